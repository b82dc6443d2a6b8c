//! Whether an answer is followed to where it points, is handed out, or may not be followed.
//!
//! Redirects are followed here and not in the transport, because a hop changes what the rest of a call
//! rests on: which secrets go along, whether the body must be produced again, who is to be blamed.
//! The rules are those of RFC 9110 §15.4 and of ruling R14. What is no redirect, or says not where to,
//! is an answer like any other; what leads to where no request may go is an error, since neither the
//! answer nor its target is what the caller asked for.
//!
//! Flow: the answer a call ends with → **redirect** → a hop, or the end. Not here: how Location is read
//! and whose origin it is (`client/redirect.rs`).

/// Where an answer points, seen from the URL that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Nowhere: there is no Location, or an empty one.
    Nowhere,
    /// Location is no URL, or there are several that differ.
    Unreadable,
    /// Neither https nor http.
    OtherScheme,
    /// From https to http.
    Unencrypted,
    /// An origin of one of the client's endpoints.
    Inside,
    /// Any other origin.
    Outside,
}

/// An answer, with all that bears on following it.
#[derive(Debug, Clone, Copy)]
pub struct Redirection<'a> {
    /// Its status.
    pub status: u16,
    /// The method that was asked with.
    pub method: &'a str,
    /// What was sent along can be produced again; so can nothing.
    pub replayable: bool,
    /// Where it points.
    pub target: Target,
    /// The methods with which this call has asked for that very URL already.
    pub asked: &'a [&'a str],
    /// Hops the call has made.
    pub hops: u32,
    /// How many it may make; 0: every redirect is handed out.
    pub most: u32,
    /// A hop of this call has left the origins of the endpoints.
    pub left: bool,
}

/// What to do about an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirect {
    /// It is the caller's.
    HandOut,
    /// Ask for its target.
    Follow(Hop),
    /// An error: its target may not be asked for.
    Refuse(Refused),
}

/// What a hop asks with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// With GET; else with the method as before.
    pub get: bool,
    /// The body goes along, where there is one.
    pub body: bool,
    /// What is secret goes along.
    pub secrets: bool,
}

/// Why a redirect may not be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The call has made as many hops as it may.
    TooMany(u32),
    /// The same was asked before in this call.
    Loop,
    /// It leads from https to http.
    Unencrypted,
    /// It leads to neither.
    OtherScheme,
    /// Where it leads cannot be told.
    Unreadable,
}

/// Whether a status can be followed at all. 300 leaves the choice to the caller, 304 is about a copy
/// that the caller keeps, 305 and 306 are no longer to be used (RFC 9110 §15.4).
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// What to do about an answer (ruling R14).
pub fn redirect(answer: &Redirection<'_>) -> Redirect {
    let nowhere = answer.target == Target::Nowhere;
    if !is_redirect(answer.status) || nowhere || answer.most == 0 {
        return Redirect::HandOut;
    }
    let get = match answer.status {
        303 => answer.method != "HEAD",
        301 | 302 => answer.method == "POST",
        _ => false,
    };
    // 303 is an invitation to fetch something else, to which no body belongs whatever the method.
    let body = !get && answer.status != 303;
    if body && !answer.replayable {
        return Redirect::HandOut;
    }
    let method = if get { "GET" } else { answer.method };
    match answer.target {
        Target::Unreadable => Redirect::Refuse(Refused::Unreadable),
        Target::OtherScheme => Redirect::Refuse(Refused::OtherScheme),
        Target::Unencrypted => Redirect::Refuse(Refused::Unencrypted),
        _ if answer.asked.contains(&method) => Redirect::Refuse(Refused::Loop),
        _ if answer.hops >= answer.most => Redirect::Refuse(Refused::TooMany(answer.most)),
        // Who has been let in from outside comes back as a stranger: else any origin could aim a
        // request with our secrets at whatever URL of ours it likes.
        target => {
            let secrets = target == Target::Inside && !answer.left;
            Redirect::Follow(Hop { get, body, secrets })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, method: &str) -> Redirection<'_> {
        Redirection {
            status,
            method,
            replayable: true,
            target: Target::Inside,
            asked: &[],
            hops: 0,
            most: 10,
            left: false,
        }
    }

    fn hop(get: bool, body: bool) -> Redirect {
        Redirect::Follow(Hop { get, body, secrets: true })
    }

    /// R14, RFC 9110 §15.4.2 to §15.4.9, F92.
    #[test]
    fn method_and_body_by_status() {
        for (status, method, expected) in [
            (301, "POST", hop(true, false)),
            (302, "POST", hop(true, false)),
            (303, "POST", hop(true, false)),
            (307, "POST", hop(false, true)),
            (308, "POST", hop(false, true)),
            (301, "GET", hop(false, true)),
            (303, "GET", hop(true, false)),
            (301, "HEAD", hop(false, true)),
            (303, "HEAD", hop(false, false)),
            (301, "PUT", hop(false, true)),
            (302, "DELETE", hop(false, true)),
            (303, "PUT", hop(true, false)),
            (303, "PURGE", hop(true, false)),
            (308, "PATCH", hop(false, true)),
        ] {
            assert_eq!(redirect(&answer(status, method)), expected, "{status} after {method}");
        }
    }

    #[test]
    fn every_other_status_is_an_answer() {
        let followed: Vec<u16> =
            (100..1000).filter(|s| redirect(&answer(*s, "GET")) != Redirect::HandOut).collect();
        assert_eq!(followed, [301, 302, 303, 307, 308]);
    }

    #[test]
    fn what_is_handed_out() {
        for status in [301, 302, 303, 307, 308] {
            let nowhere = Redirection { target: Target::Nowhere, ..answer(status, "GET") };
            assert_eq!(redirect(&nowhere), Redirect::HandOut, "{status} without a Location");
            let off = Redirection { most: 0, ..answer(status, "GET") };
            assert_eq!(redirect(&off), Redirect::HandOut, "{status} with redirects off");
        }
        // A body that cannot be produced again, wherever it would have to be.
        for (status, method, followed) in [
            (307, "POST", false),
            (308, "POST", false),
            (301, "PUT", false),
            (302, "POST", true),
            (303, "PUT", true),
            (302, "GET", false),
        ] {
            let once = Redirection { replayable: false, ..answer(status, method) };
            assert_eq!(redirect(&once) != Redirect::HandOut, followed, "{status} after {method}");
        }
    }

    #[test]
    fn what_is_refused() {
        for (target, why) in [
            (Target::Unreadable, Refused::Unreadable),
            (Target::OtherScheme, Refused::OtherScheme),
            (Target::Unencrypted, Refused::Unencrypted),
        ] {
            let answer = Redirection { target, ..answer(302, "GET") };
            assert_eq!(redirect(&answer), Redirect::Refuse(why));
        }
        let tenth = Redirection { hops: 9, ..answer(302, "GET") };
        assert_eq!(redirect(&tenth), hop(false, true));
        let eleventh = Redirection { hops: 10, ..answer(302, "GET") };
        assert_eq!(redirect(&eleventh), Redirect::Refuse(Refused::TooMany(10)));
    }

    #[test]
    fn a_loop_is_the_same_url_with_the_same_method() {
        let of = |status, method, asked| redirect(&Redirection { asked, ..answer(status, method) });
        assert_eq!(of(302, "GET", &["GET"]), Redirect::Refuse(Refused::Loop));
        assert_eq!(of(307, "POST", &["POST"]), Redirect::Refuse(Refused::Loop));
        assert_eq!(of(303, "POST", &["POST"]), hop(true, false), "the form's page after the form");
        assert_eq!(of(303, "POST", &["POST", "GET"]), Redirect::Refuse(Refused::Loop));
    }

    /// R15: secrets go inside, and stay away once a hop has been outside.
    #[test]
    fn secrets_go_along_inside_only() {
        for (target, left, secrets) in [
            (Target::Inside, false, true),
            (Target::Outside, false, false),
            (Target::Inside, true, false),
            (Target::Outside, true, false),
        ] {
            let answer = Redirection { target, left, ..answer(302, "GET") };
            let hop = Hop { get: false, body: true, secrets };
            assert_eq!(redirect(&answer), Redirect::Follow(hop), "{target:?}, left {left}");
        }
    }
}
