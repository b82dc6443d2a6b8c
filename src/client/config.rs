//! A client from a file: the options by their names, and what is no option beside them.

mod document;

use super::builder::ClientBuilder;
use super::endpoint::Endpoint;
use super::error::{Error, Result};
use super::options;
use super::status::Status;
use document::{Document, Place, Table, Value};
use std::path::Path;

impl ClientBuilder {
    /// Takes in a configuration: TOML, or JSON where it begins with `{`. Feature `config`.
    ///
    /// Every [option](crate::options) is a key of its own name, with its value as a text; a number, a
    /// flag and a list are taken where that text would be one. Beside the options there are
    ///
    /// * `preset`, which comes first wherever it stands, so that options change it,
    /// * `endpoints`, a list of tables with `url` and perhaps `label`, `weight`, `priority`, `server_name`,
    ///   `headers`, `secret_headers`; they come behind those of `base_urls`,
    /// * `headers` and `secret_headers`, tables of what every request carries,
    /// * `root_pem_files`, a list of paths, and `client_cert_file` with `client_key_file`.
    ///
    /// Nothing else is read and no variable of the environment is looked at.
    ///
    /// ```
    /// let client = anyhost::Client::builder()
    ///     .config(
    ///         r#"
    ///         preset = "resilient"
    ///         base_urls = ["https://a.example/v1", "https://b.example/v1"]
    ///         deadline = "10s"
    ///         breaker_threshold = 2
    ///
    ///         [headers]
    ///         Accept = "application/json"
    ///         "#,
    ///     )
    ///     .build()?;
    /// assert_eq!(client.snapshot().members()[1].label(), "https://b.example");
    /// # Ok::<(), anyhost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::Option`] for what is neither TOML nor JSON, for a key that there is not and for a value
    /// of the wrong type; otherwise as the method that the key stands for. The message begins with line
    /// and column, and shows no value of a header.
    pub fn config(self, text: &str) -> Self {
        self.with(|builder| builder.add_config(text, Path::new("")))
    }

    /// The same from a file, whose path errors name too. Paths in it are relative to its folder. It is read
    /// once, now: what changes in it later changes nothing. Feature `config`.
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("anyhost-{}.toml", std::process::id()));
    /// std::fs::write(&path, "base_urls = 'https://a.example'\ndeadline = 'soon'\n")?;
    /// let error = anyhost::Client::builder().config_file(&path).build().unwrap_err();
    /// assert_eq!((error.status(), error.option()), (anyhost::Status::Option, Some("deadline")));
    /// assert!(error.to_string().contains("line 2")); // after the path
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`config`](ClientBuilder::config); [`Status::Option`] for a file that cannot be read or is not
    /// UTF-8.
    pub fn config_file(self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        self.with(|builder| {
            let shown = path.display();
            let text = std::fs::read_to_string(path).map_err(|why| {
                Error::of_option(Status::Option, "config_file", format!("{shown}: {why}"))
            })?;
            let folder = path.parent().unwrap_or(Path::new(""));
            builder.add_config(&text, folder).map_err(|error| error.prefixed(&format!("{shown}: ")))
        })
    }

    fn add_config(&mut self, text: &str, folder: &Path) -> Result<()> {
        let document = Document::parse(text)?;
        let table = &document.root;
        if let Some(preset) = table.get("preset") {
            let done = text_of("preset", &preset.value).and_then(|name| self.set_preset(name));
            done.map_err(|error| document.at(preset.place, error))?;
        }
        let (mut cert, mut key) = (None, None);
        for entry in &table.entries {
            let (name, value) = (entry.name.as_str(), &entry.value);
            let done = match name {
                "preset" => Ok(()),
                "endpoints" => {
                    self.add_endpoints(&document, value)?;
                    Ok(())
                }
                "headers" => self.add_headers(value, false),
                "secret_headers" => self.add_headers(value, true),
                "root_pem_files" => texts(name, value).and_then(|files| {
                    files.iter().try_for_each(|file| {
                        self.trust(read(name, folder, file)?);
                        Ok(())
                    })
                }),
                "client_cert_file" => {
                    file(name, folder, value).map(|pem| cert = Some((entry.place, pem)))
                }
                "client_key_file" => {
                    file(name, folder, value).map(|pem| key = Some((entry.place, pem)))
                }
                _ => option_text(name, value).and_then(|text| self.set_option(name, &text)),
            };
            done.map_err(|error| document.at(entry.place, error))?;
        }
        match (cert, key) {
            (Some((place, cert)), Some((_, key))) => {
                self.identify(&cert, &key).map_err(|error| document.at(place, error))
            }
            (None, None) => Ok(()),
            (Some((place, _)), None) | (None, Some((place, _))) => {
                let why = "`client_cert_file` and `client_key_file` go together";
                Err(document.at(place, Error::of_option(Status::Config, "client_cert_file", why)))
            }
        }
    }

    fn add_endpoints(&mut self, document: &Document, value: &Value) -> Result<()> {
        let Value::List(items) = value else {
            return Err(wrong("endpoints", "a list of tables"));
        };
        for item in items {
            let Value::Table(table) = &item.value else {
                return Err(document.at(item.place, wrong("endpoints", "a list of tables")));
            };
            self.add_endpoint(endpoint(document, item.place, table)?);
        }
        Ok(())
    }

    fn add_headers(&mut self, value: &Value, secret: bool) -> Result<()> {
        each_header(value, |name, text| self.add_header(name, text.as_bytes(), secret))
    }
}

fn endpoint(document: &Document, place: Place, table: &Table) -> Result<Endpoint> {
    let Some(url) = table.get("url") else {
        return Err(document.at(place, options::invalid("url", "an endpoint needs one")));
    };
    let mut endpoint = text_of("url", &url.value)
        .and_then(Endpoint::new)
        .map_err(|error| document.at(url.place, error))?;
    for entry in &table.entries {
        let (name, value) = (entry.name.as_str(), &entry.value);
        let done = match name {
            "url" => Ok(()),
            "label" => text_of(name, value).map(|label| endpoint.label = Some(label.to_owned())),
            "weight" => number(name, value).map(|n| endpoint.weight = Some(n)),
            "priority" => number(name, value).map(|n| endpoint.priority = Some(n)),
            "server_name" => text_of(name, value).and_then(|it| endpoint.set_server_name(it)),
            "headers" | "secret_headers" => {
                let secret = name == "secret_headers";
                each_header(value, |name, text| endpoint.add_header(name, text.as_bytes(), secret))
            }
            _ => Err(options::invalid(name, "an endpoint has no such key")),
        };
        done.map_err(|error| document.at(entry.place, error))?;
    }
    Ok(endpoint)
}

fn each_header(value: &Value, mut add: impl FnMut(&str, &str) -> Result<()>) -> Result<()> {
    let Value::Table(table) = value else { return Err(wrong("headers", "a table")) };
    table.entries.iter().try_for_each(|entry| match &entry.value {
        Value::List(items) => {
            (items.iter()).try_for_each(|item| add(&entry.name, text_of(&entry.name, &item.value)?))
        }
        value => add(&entry.name, text_of(&entry.name, value)?),
    })
}

fn text_of<'v>(name: &str, value: &'v Value) -> Result<&'v str> {
    value.text().ok_or_else(|| wrong(name, "a text"))
}

/// The value of an option as the text that its table reads.
fn option_text(name: &str, value: &Value) -> Result<String> {
    match value {
        Value::Text(text) | Value::Number(text) => Ok(text.clone()),
        Value::Flag(on) => Ok(if *on { "on" } else { "off" }.to_owned()),
        Value::List(items) => {
            let texts: Result<Vec<String>> =
                items.iter().map(|item| option_text(name, &item.value)).collect();
            Ok(texts?.join(","))
        }
        Value::Table(_) | Value::Other => {
            options::known(name)?;
            Err(wrong(name, "a text, a number, a flag or a list"))
        }
    }
}

fn number(name: &str, value: &Value) -> Result<u32> {
    match value {
        Value::Number(text) => text.parse().map_err(|_| wrong(name, "a number of 32 bits")),
        _ => Err(wrong(name, "a number")),
    }
}

fn texts<'v>(name: &str, value: &'v Value) -> Result<Vec<&'v str>> {
    let expected = || wrong(name, "a list of texts");
    let Value::List(items) = value else { return Err(expected()) };
    items.iter().map(|item| item.value.text().ok_or_else(expected)).collect()
}

fn file(name: &str, folder: &Path, value: &Value) -> Result<Vec<u8>> {
    read(name, folder, text_of(name, value)?)
}

fn read(name: &str, folder: &Path, file: &str) -> Result<Vec<u8>> {
    std::fs::read(folder.join(file))
        .map_err(|why| Error::of_option(Status::TlsMaterial, name, format!("{file}: {why}")))
}

fn wrong(name: &str, expected: &str) -> Error {
    options::invalid(name, format_args!("it has to be {expected}"))
}
