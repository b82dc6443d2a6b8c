//! What an error is, as one of the numbers of the C contract.

use std::fmt;

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $code:literal, $text:literal;)*) => {
        /// What kind of error it is. One of the fixed numbers of `ANYHOST_E_*` in the C header.
        ///
        /// ```
        /// use anyhost::{Client, Status};
        ///
        /// let error = Client::new("https://a.example, http://b.example").unwrap_err();
        /// assert_eq!(error.status(), Status::Downgrade);
        /// assert_eq!((Status::Downgrade.code(), Status::Downgrade.name()), (104, "DOWNGRADE"));
        /// assert_eq!(Status::Downgrade.text(), "https beside http, without allow_mixed_schemes");
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum Status {
            $($(#[$doc])* $name = $number,)*
        }

        impl Status {
            /// Every status, by number.
            pub const ALL: &'static [Status] = &[$(Status::$name),*];

            /// The name in the C header, without its prefix: `ATTEMPTS_SPENT`.
            pub fn name(self) -> &'static str {
                match self { $(Status::$name => $code,)* }
            }

            /// What it means, in a few words, for people. The [`Display`](fmt::Display) text.
            pub fn text(self) -> &'static str {
                match self { $(Status::$name => $text,)* }
            }
        }
    };
}

statuses! {
    /// A pointer that must not be NULL was (C only).
    Null = 1, "NULL", "a pointer that must not be NULL is";
    /// An argument is wrong in itself.
    Argument = 2, "ARGUMENT", "an argument is wrong";
    /// A text is not UTF-8, or the body of an answer that was asked for as text.
    Encoding = 3, "ENCODING", "a text is not UTF-8";
    /// A number is outside its range.
    Range = 4, "RANGE", "a number is outside its range";
    /// The object is not in the state that this needs, as a request whose body was a reader and has been read.
    State = 5, "STATE", "the object is not in the state that this needs";
    /// A call was made from inside a callback of the same thread (C only).
    Reentry = 6, "REENTRY", "a callback may not make a call";
    /// The handle is none of this type (C only).
    Handle = 7, "HANDLE", "the handle is of another type or was freed";
    /// No such option, or a value it does not take.
    Option = 8, "OPTION", "no such option, or a value that it does not take";
    /// There is no member of this name.
    NotFound = 9, "NOT_FOUND", "there is no member of this name";
    /// The buffer is too small (C only).
    Buffer = 10, "BUFFER", "the buffer is too small";
    /// Not possible in this build or on this system.
    Unsupported = 11, "UNSUPPORTED", "not possible in this build or on this system";
    /// A base URL or proxy URL is wrong.
    Url = 100, "URL", "a URL is wrong";
    /// The settings do not go together.
    Config = 101, "CONFIG", "the settings do not go together";
    /// A certificate or key cannot be used, or there are no roots to trust.
    TlsMaterial = 102, "TLS_MATERIAL", "a certificate or key cannot be used";
    /// Two endpoints or two proxies are the same, or two members have one label.
    Duplicate = 103, "DUPLICATE", "two endpoints are the same";
    /// https beside http, which `allow_mixed_schemes` has not allowed.
    Downgrade = 104, "DOWNGRADE", "https beside http, without allow_mixed_schemes";
    /// No endpoint may be tried now.
    NoEndpoint = 200, "NO_ENDPOINT", "no endpoint may be tried now";
    /// No further attempt is left or allowed; the last attempt's reason and phase say why.
    AttemptsSpent = 201, "ATTEMPTS_SPENT", "no further attempt is left or allowed";
    /// The deadline of the call passed, or would have passed during the next wait.
    Deadline = 202, "DEADLINE", "the deadline of the call passed";
    /// The retry budget is empty.
    BudgetSpent = 203, "BUDGET_SPENT", "the retry budget is empty";
    /// Only the body, which cannot be sent a second time, forbade another attempt.
    NotReplayable = 204, "NOT_REPLAYABLE", "the body cannot be sent a second time";
    /// The caller cancelled.
    Cancelled = 205, "CANCELLED", "cancelled";
    /// The client was shut down.
    ShutDown = 206, "SHUT_DOWN", "the client was shut down";
    /// The body of the answer broke off.
    Body = 207, "BODY", "the body of the answer broke off";
    /// The body of the answer is larger than `max_body`.
    TooLarge = 208, "TOO_LARGE", "the body of the answer is larger than max_body";
    /// The caller's own body source failed.
    BodySource = 209, "BODY_SOURCE", "the source of the request's body failed";
    /// The answer was turned down: by `require_success`, by `error_statuses`, or by the caller's judge. The error
    /// keeps it ([`Error::answer`](crate::Error::answer)).
    Rejected = 210, "REJECTED", "the answer was turned down";
    /// Too many redirects, or one to where none may go.
    Redirects = 211, "REDIRECTS", "too many redirects, or one to where none may go";
    /// A fault of anyhost itself. Please report it.
    Internal = 900, "INTERNAL", "a fault of anyhost itself";
    /// A panic was caught at the C boundary (C only).
    Panic = 901, "PANIC", "a panic was caught";
    /// The client took part in a panic and answers nothing any more (C only).
    Broken = 902, "BROKEN", "the client is unusable since a panic";
}

impl Status {
    /// The number, that of `ANYHOST_E_*` in the C header: the same in every version. Below 100 it is about an
    /// argument, from 100 on about settings, from 200 on about a call, from 900 on about anyhost itself.
    pub fn code(self) -> i32 {
        self as i32
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
