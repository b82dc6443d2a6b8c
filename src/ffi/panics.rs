//! A panic in every exported function, planted where its body begins: none may reach C.

use super::{
    attempt::*,
    breaker::*,
    builder::*,
    cancel::*,
    client::{self, *},
    error::*,
    event::*,
    member::*,
    numbers::*,
    option::*,
    request::*,
    response::*,
    shortcut::*,
    snapshot::*,
    status::*,
    update::*,
    version::*,
};
use crate::{Client, Status};
use std::cell::Cell;
use std::path::Path;
use std::ptr;

thread_local! {
    /// How many guarded bodies may still begin before one panics.
    static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Panics if it was asked to.
pub(super) fn planted() {
    match LEFT.get() {
        None => {}
        Some(0) => {
            LEFT.set(None);
            panic!("planted");
        }
        Some(left) => LEFT.set(Some(left - 1)),
    }
}

/// An argument that is nothing.
trait Nothing {
    fn nothing() -> Self;
}

impl<T> Nothing for *const T {
    fn nothing() -> Self {
        ptr::null()
    }
}

impl<T> Nothing for *mut T {
    fn nothing() -> Self {
        ptr::null_mut()
    }
}

impl<T> Nothing for Option<T> {
    fn nothing() -> Self {
        None
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Nothing for $number {
            fn nothing() -> Self {
                0
            }
        })*
    };
}
numbers!(i32 u32 i64 u64 usize);

/// An exported function, called with nothing.
trait Export {
    type Answer;
    fn call(self) -> Self::Answer;
}

macro_rules! exports {
    ($($argument:ident)*) => {
        impl<Answer, $($argument: Nothing),*> Export for unsafe extern "C" fn($($argument),*) -> Answer {
            type Answer = Answer;

            fn call(self) -> Answer {
                // SAFETY: the header allows NULL everywhere.
                unsafe { self($($argument::nothing()),*) }
            }
        }
    };
}
exports!();
exports!(A);
exports!(A B);
exports!(A B C);
exports!(A B C D);
exports!(A B C D E);
exports!(A B C D E F);
exports!(A B C D E F G);

/// What a function answers after a panic.
trait Answer {
    /// Whether it is what the header says, of a function that answers a status or of a getter.
    fn says_so(&self, status: bool) -> bool;
}

impl Answer for () {
    fn says_so(&self, status: bool) -> bool {
        !status
    }
}

impl<T> Answer for *const T {
    fn says_so(&self, status: bool) -> bool {
        !status
    }
}

impl<T> Answer for *mut T {
    fn says_so(&self, status: bool) -> bool {
        !status && self.is_null()
    }
}

impl Answer for i32 {
    fn says_so(&self, status: bool) -> bool {
        if status { *self == Status::Panic.code() } else { [0, -1].contains(self) }
    }
}

impl Answer for i64 {
    fn says_so(&self, status: bool) -> bool {
        !status && *self == -1
    }
}

impl Answer for u32 {
    fn says_so(&self, status: bool) -> bool {
        !status && [0, u32::MAX].contains(self)
    }
}

impl Answer for u64 {
    fn says_so(&self, status: bool) -> bool {
        !status && *self == 0
    }
}

impl Answer for usize {
    fn says_so(&self, status: bool) -> bool {
        !status && *self == 0
    }
}

/// Whether the panic of this function stayed inside, and was told.
fn contained<F: Export<Answer: Answer>>(function: F, status: bool) -> bool {
    LEFT.set(Some(0));
    let answer = function.call();
    LEFT.take().is_none() && answer.says_so(status)
}

/// The sources beside this file.
fn sources() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ffi");
    let files = std::fs::read_dir(folder).expect("the folder is there");
    files
        .map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("UTF-8"))
        .collect()
}

/// Whether a function answers a status, by the form of its guard.
fn answers_a_status(sources: &str, name: &str) -> bool {
    let (_, after) =
        sources.split_once(&format!("extern \"C\" fn {name}(")).expect("it is written");
    let (_, body) = after.split_once("guard!(").expect("it is guarded");
    body.trim_start().starts_with("status")
}

macro_rules! every {
    ($sources:ident: $($arguments:tt: $($function:ident)*;)*) => {
        [$($((
            stringify!($function),
            contained(
                every!(@pointer $function $arguments),
                answers_a_status(&$sources, stringify!($function)),
            ),
        ),)*)*]
    };
    (@pointer $function:ident ($($argument:tt),*)) => {
        $function as unsafe extern "C" fn($($argument),*) -> _
    };
}

#[test]
fn a_panic_in_every_export_stays_inside() {
    let sources = sources();
    let found = every! { sources:
        ():
            anyhost_option_count anyhost_version anyhost_version_number anyhost_abi anyhost_build_info;
        (_):
            anyhost_status_name anyhost_status_text anyhost_response_free anyhost_response_status
            anyhost_response_header_count anyhost_response_content_length anyhost_response_url
            anyhost_response_endpoint anyhost_response_elapsed_us anyhost_response_retry_after_ms
            anyhost_response_attempt_count anyhost_error_free anyhost_error_status anyhost_error_message
            anyhost_error_delivery anyhost_error_reason anyhost_error_phase anyhost_error_http_status
            anyhost_error_os_error anyhost_error_option anyhost_error_retry_after_ms anyhost_error_attempt_count
            anyhost_attempt_number anyhost_attempt_endpoint anyhost_attempt_proxy anyhost_attempt_message
            anyhost_attempt_phase anyhost_attempt_reason anyhost_attempt_delivery anyhost_attempt_http_status
            anyhost_attempt_reused_connection anyhost_attempt_is_replay anyhost_attempt_is_hop
            anyhost_attempt_os_error anyhost_attempt_retry_after_ms anyhost_attempt_started_us
            anyhost_attempt_elapsed_us anyhost_attempt_bytes_sent anyhost_attempt_bytes_received
            anyhost_client_ref anyhost_client_free anyhost_client_shutdown anyhost_client_drop_idle
            anyhost_request_free anyhost_builder_new anyhost_builder_free anyhost_event_kind
            anyhost_event_call_id anyhost_event_text anyhost_event_endpoint anyhost_event_attempt
            anyhost_event_wait_ms
            anyhost_event_reason anyhost_event_phase anyhost_event_proxy anyhost_event_old_state
            anyhost_event_new_state anyhost_event_old_weight anyhost_event_new_weight anyhost_cancel_new
            anyhost_cancel_ref anyhost_cancel_free anyhost_cancel_trigger anyhost_cancel_is_triggered
            anyhost_snapshot_free anyhost_snapshot_count anyhost_member_label anyhost_member_url
            anyhost_member_detail anyhost_member_kind anyhost_member_state anyhost_member_reason
            anyhost_member_phase anyhost_member_priority anyhost_member_weight anyhost_member_max_weight
            anyhost_member_failures_in_a_row anyhost_member_in_flight anyhost_member_cooling_ms
            anyhost_member_since_ms anyhost_member_attempts anyhost_member_successes anyhost_member_failures
            anyhost_member_latency_us anyhost_update_new anyhost_update_free anyhost_breaker_free
            anyhost_option_name anyhost_option_default anyhost_option_help anyhost_option_scope
            anyhost_state_name anyhost_phase_name anyhost_reason_name anyhost_delivery_name anyhost_event_name;
        (_, _):
            anyhost_response_attempt anyhost_error_attempt anyhost_client_enable anyhost_client_snapshot
            anyhost_request_set_cancel anyhost_builder_preset anyhost_snapshot_at anyhost_snapshot_find
            anyhost_breaker_record_success;
        (_, _, _):
            anyhost_open anyhost_error_body anyhost_client_set_weight anyhost_client_disable
            anyhost_client_apply anyhost_request_set_header anyhost_request_add_header anyhost_request_set_body
            anyhost_request_set anyhost_request_set_int anyhost_builder_set anyhost_builder_set_int
            anyhost_builder_endpoint_server_name anyhost_builder_add_root_pem anyhost_builder_build
            anyhost_update_endpoint_server_name anyhost_breaker_record_failure;
        (_, _, _, _):
            anyhost_builder_add_proxy anyhost_update_add_proxy
            anyhost_get anyhost_head anyhost_delete anyhost_response_body anyhost_response_header
            anyhost_error_json anyhost_error_explain anyhost_client_send anyhost_client_stream anyhost_request_new
            anyhost_request_set_progress
            anyhost_builder_add_header anyhost_builder_on_event anyhost_builder_on_judge
            anyhost_builder_on_retry anyhost_snapshot_json anyhost_snapshot_text
            anyhost_breaker_new anyhost_breaker_allow;
        (_, _, _, _, _):
            anyhost_response_read anyhost_response_header_at anyhost_client_probe anyhost_request_add_header_n
            anyhost_request_set_body_borrowed anyhost_builder_add_endpoint anyhost_builder_endpoint_header
            anyhost_builder_set_client_cert_pem anyhost_update_add_endpoint anyhost_update_endpoint_header;
        (_, _, _, _, _, _):
            anyhost_request_set_body_reader anyhost_prometheus;
        (_, _, _, _, _, _, _):
            anyhost_post anyhost_put anyhost_patch;
    };
    for (name, contained) in &found {
        assert!(contained, "{name}");
    }
    let mut names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    let exports = sources.lines().filter_map(|line| {
        let (front, rest) = line.split_once("extern \"C\" fn ")?;
        front.starts_with("pub ").then_some(rest.split_once('(')?.0)
    });
    let mut written: Vec<&str> = exports.collect();
    names.sort_unstable();
    written.sort_unstable();
    assert_eq!(names, written, "every export is tried, once");
}

/// A panic below the handle, where it may have left something half done: the client says so from then on.
#[test]
fn a_client_is_broken_by_a_panic_inside() {
    let client = client::Core::handle(Client::new("http://127.0.0.1:9").unwrap());
    let mut snapshot = ptr::null_mut();
    // SAFETY: the handle is alive until the free at the end.
    unsafe {
        assert_eq!(anyhost_client_snapshot(client, &mut snapshot), 0);
        anyhost_snapshot_free(snapshot);
        // The export itself passes, and what it asks of the client panics.
        LEFT.set(Some(1));
        assert_eq!(anyhost_client_snapshot(client, &mut snapshot), Status::Panic.code());
        assert!(snapshot.is_null());
        let broken = Status::Broken.code();
        assert_eq!(anyhost_client_snapshot(client, &mut snapshot), broken);
        assert_eq!(anyhost_client_drop_idle(client), broken);
        assert_eq!(anyhost_client_shutdown(client), broken);
        assert_eq!(anyhost_client_set_weight(client, c"x".as_ptr(), 1), broken);
        let (mut answer, mut err) = (ptr::null_mut(), ptr::null_mut());
        assert_eq!(anyhost_get(client, c"/".as_ptr(), &mut answer, &mut err), broken);
        assert_eq!(anyhost_error_status(err), broken);
        anyhost_error_free(err);
        let again = anyhost_client_ref(client);
        anyhost_client_free(again);
        anyhost_client_free(client);
    }
}
