//! Positions, digests, relation, first difference and marker planning for prompt prefixes.
