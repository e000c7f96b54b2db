//! What is left to root of its powers.

use std::io;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set, set_capabilities,
};

/// Gives up all powers for good but those over files, which the other walls look at. With others, root is not held:
/// the kernel shows `/proc/PID/environ` of any process to whoever has `CAP_PERFMON`, and does not ask Landlock then.
pub(super) fn give_up() -> io::Result<()> {
    for capability in (!KEPT & CapabilitySet::all()).iter() {
        match remove_capability_from_bounding_set(capability) {
            // One that this kernel does not know, or a user who has no powers to give up.
            Ok(()) | Err(Errno::INVAL | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let CapabilitySets { effective, permitted, inheritable } = capabilities(None)?;
    let kept = CapabilitySets {
        effective: effective & KEPT,
        permitted: permitted & KEPT,
        inheritable: inheritable & KEPT,
    };
    Ok(set_capabilities(None, kept)?)
}

const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);
