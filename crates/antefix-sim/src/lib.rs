//! A simulator of providers' prompt caches on a virtual clock, with a scripted model.
