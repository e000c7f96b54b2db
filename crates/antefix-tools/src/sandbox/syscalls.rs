//! System calls that a confined command may not make: those that Landlock does not look at.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// Confines the calling thread and what it starts from now on.
pub(super) fn restrict(offline: bool) -> Result<(), String> {
    let programs = programs(offline).map_err(|error| error.to_string())?;
    programs.iter().try_for_each(|program| apply_filter(program).map_err(|error| error.to_string()))
}

/// Whether the kernel filters system calls and the filter is known for this kind of machine.
pub(super) fn is_supported() -> bool {
    programs(false).is_ok() && rustix::thread::secure_computing_mode().is_ok()
}

/// The filters. Those that answer "no such call" make programs fall back on calls whose arguments can be looked at.
fn programs(offline: bool) -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED {
        add(&mut refused, *call, Vec::new());
    }
    add(&mut refused, libc::SYS_clone, vec![new_user_namespace()?]);
    let sockets = if offline { Vec::new() } else { other_families()? };
    add(&mut refused, libc::SYS_socket, sockets);
    let mut unknown = BTreeMap::new();
    for call in UNKNOWN {
        add(&mut unknown, *call, Vec::new());
    }
    Ok([program(refused, libc::EPERM)?, program(unknown, libc::ENOSYS)?])
}

/// Adds a call; without rules it is caught whatever its arguments are.
fn add(calls: &mut BTreeMap<i64, Vec<SeccompRule>>, call: i64, rules: Vec<SeccompRule>) {
    #[cfg(target_arch = "x86_64")]
    calls.insert(call | X32, rules.clone());
    calls.insert(call, rules);
}

fn program(
    calls: BTreeMap<i64, Vec<SeccompRule>>,
    error: libc::c_int,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let caught = SeccompAction::Errno(error as u32);
    let machine = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(calls, SeccompAction::Allow, caught, machine)?.try_into()
}

fn new_user_namespace() -> Result<SeccompRule, seccompiler::BackendError> {
    let flag = libc::CLONE_NEWUSER as u64;
    SeccompRule::new(vec![SeccompCondition::new(
        0,
        SeccompCmpArgLen::Qword,
        SeccompCmpOp::MaskedEq(flag),
        flag,
    )?])
}

/// Sockets other than those of the internet and of the kernel's tables: unix sockets lead to daemons that act outside.
fn other_families() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let is_not = |family: libc::c_int| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family as u64)
    };
    let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    Ok(vec![SeccompRule::new(families.into_iter().map(is_not).collect::<Result<_, _>>()?)?])
}

/// The bit of calls of the x32 interface, which have other numbers and do the same.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

const REFUSED: &[libc::c_long] = &[
    // Into other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Other views of the files.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    // Into the kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Calls that no filter can look into: their arguments are in memory. Sockets can be made through `io_uring`.
const UNKNOWN: &[libc::c_long] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];
