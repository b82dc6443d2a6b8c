//! The proxies that the environment names, with the meaning that curl gives to its variables.
//!
//! | for | variables, the first that is set and not empty |
//! |---|---|
//! | http targets | `http_proxy`, `all_proxy`, `ALL_PROXY` |
//! | https targets | `https_proxy`, `HTTPS_PROXY`, `all_proxy`, `ALL_PROXY` |
//! | what to reach directly | `no_proxy`, `NO_PROXY` |
//!
//! Never `HTTP_PROXY`: a web server hands the request's header `Proxy` to a CGI program under that name,
//! so a visitor would choose the proxy ("httpoxy", CVE-2016-5385). Where names have no case, on Windows,
//! `http_proxy` is that same variable; a program that finds `REQUEST_METHOD` set there is a CGI program
//! and does without.
//!
//! Not here: when the environment is asked at all (`proxy_from_env`), what is made of it (`builder`).

use super::no_proxy::NoProxy;
use crate::transport::ProxyUrl;

/// Where variables come from, so that tests need not change those of the process.
pub(crate) struct Environment<'a> {
    /// The value of a variable, where it is set and text.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    /// `http_proxy` and `HTTP_PROXY` are one variable.
    pub(crate) ignores_case: bool,
}

impl Environment<'static> {
    /// That of this process.
    pub(crate) fn of_process() -> Self {
        // Asked for by an option, which is the case that the rule allows.
        #[allow(clippy::disallowed_methods)]
        let variable = &|name: &str| std::env::var(name).ok();
        Environment { variable, ignores_case: cfg!(windows) }
    }
}

/// What the environment says about proxies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// For http targets.
    pub(crate) http: Option<ProxyUrl>,
    /// For https targets.
    pub(crate) https: Option<ProxyUrl>,
    /// What to reach directly.
    pub(crate) no_proxy: NoProxy,
}

impl Environment<'_> {
    /// Reads the variables. Blanks and line ends around a value are no part of it (F166).
    ///
    /// The error names the variable, and its value without user info.
    pub(crate) fn proxies(&self) -> Result<Named, String> {
        let is_cgi = self.ignores_case && self.value("REQUEST_METHOD").is_some();
        let http: &[&str] = match is_cgi {
            true => &["all_proxy", "ALL_PROXY"],
            false => &["http_proxy", "all_proxy", "ALL_PROXY"],
        };
        let https = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
        let no_proxy = self.first(&["no_proxy", "NO_PROXY"]).map(|(_, list)| list);
        Ok(Named {
            http: self.proxy(http)?,
            https: self.proxy(&https)?,
            no_proxy: NoProxy::parse(&no_proxy.unwrap_or_default()),
        })
    }

    fn proxy(&self, names: &[&'static str]) -> Result<Option<ProxyUrl>, String> {
        let Some((name, value)) = self.first(names) else { return Ok(None) };
        ProxyUrl::parse(&value).map(Some).map_err(|why| format!("{name}: {why}"))
    }

    fn first(&self, names: &[&'static str]) -> Option<(&'static str, String)> {
        names.iter().find_map(|name| Some((*name, self.value(name)?)))
    }

    /// The value of a variable without blanks around it, where there is more than that.
    pub(crate) fn value(&self, name: &str) -> Option<String> {
        let value = (self.variable)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)], ignores_case: bool) -> Result<Named, String> {
        let same = |a: &str, b: &str| a == b || ignores_case && a.eq_ignore_ascii_case(b);
        let find = |name: &str| {
            let found = variables.iter().find(|(own, _)| same(own, name));
            found.map(|(_, value)| (*value).to_owned())
        };
        Environment { variable: &find, ignores_case }.proxies()
    }

    fn named(variables: &[(&str, &str)]) -> (Option<String>, Option<String>) {
        let named = read(variables, false).unwrap();
        (named.http.map(|p| p.to_string()), named.https.map(|p| p.to_string()))
    }

    #[test]
    fn each_target_has_its_variables_in_curls_order() {
        let url = |host: &str| Some(format!("http://{host}:1"));
        for (variables, http, https) in [
            (&[][..], None, None),
            (&[("http_proxy", "a:1")], url("a"), None),
            (&[("https_proxy", "a:1")], None, url("a")),
            (&[("HTTPS_PROXY", "a:1")], None, url("a")),
            (&[("HTTPS_PROXY", "b:1"), ("https_proxy", "a:1")], None, url("a")),
            (&[("all_proxy", "a:1")], url("a"), url("a")),
            (&[("ALL_PROXY", "a:1")], url("a"), url("a")),
            (&[("ALL_PROXY", "b:1"), ("all_proxy", "a:1")], url("a"), url("a")),
            (&[("all_proxy", "b:1"), ("http_proxy", "a:1")], url("a"), url("b")),
            // Set but empty is not set.
            (&[("all_proxy", "b:1"), ("http_proxy", "")], url("b"), url("b")),
            (&[("https_proxy", " "), ("HTTPS_PROXY", "a:1")], None, url("a")),
            // httpoxy: this one belongs to whoever sends a header.
            (&[("HTTP_PROXY", "a:1")], None, None),
            (&[("HTTP_PROXY", "a:1"), ("REQUEST_METHOD", "GET")], None, None),
            (&[("http_proxy", "a:1"), ("REQUEST_METHOD", "GET")], url("a"), None),
        ] {
            assert_eq!(named(variables), (http, https), "{variables:?}");
        }
    }

    #[test]
    fn where_names_have_no_case_a_cgi_program_does_without() {
        let cgi = &[("HTTP_PROXY", "a:1"), ("HTTPS_PROXY", "b:1"), ("REQUEST_METHOD", "GET")];
        let found = read(cgi, true).unwrap();
        assert_eq!(found.http, None);
        assert_eq!(found.https, read(cgi, false).unwrap().https);
        assert!(read(&cgi[..1], true).unwrap().http.is_some(), "no CGI program");
    }

    #[test]
    fn values_are_trimmed_and_mistakes_are_named() {
        let found =
            read(&[("http_proxy", " http://127.0.0.1:3128\r\n"), ("NO_PROXY", "a, b\r\n")], false);
        let found = found.unwrap();
        assert_eq!(found.http, Some(ProxyUrl::parse("http://127.0.0.1:3128").unwrap()));
        assert_eq!(found.no_proxy, NoProxy::parse("a,b"));
        let upper = [("no_proxy", "a"), ("NO_PROXY", "b")];
        assert_eq!(read(&upper, false).unwrap().no_proxy, NoProxy::parse("a"));

        let wrong = read(&[("all_proxy", "ftp://u:geheim@p")], false).unwrap_err();
        assert!(wrong.starts_with("all_proxy: ") && wrong.contains("ftp://"), "{wrong}");
        assert!(!wrong.contains("geheim"), "{wrong}");
    }
}
