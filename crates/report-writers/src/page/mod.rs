//! A report as one HTML page that needs no network: pictures to look at first, tables to sort and filter below them.
//!
//! The page is this crate's `page.js` and `page.css`, as they are, and the data of the report. The data is gzip and
//! base64 in script elements that no browser runs, undone by the page's own script, which hands it to the document as
//! text and attributes alone. So nothing that stands in a recording can become markup. A policy in the page's head
//! (`Content-Security-Policy`) lets only this script and this style sheet, known by their SHA-256, take effect, and
//! forbids every request. Only the summary for readers without scripts (mail, some viewers) is written as markup, by
//! one function that escapes ([`markup_text`]).
//!
//! A [`Page`] is made of plain data, whatever it is of; what it does not have, the page does not show.

mod content;
mod fallback;
mod icicle;
mod slots;
mod timeline;

use std::io::{self, Write};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

use crate::report::Report;
use crate::writer::{WriteError, create_file};
pub use content::*;
pub use fallback::markup_text;
pub use icicle::{Icicle, IcicleBuilder, IcicleNode};
pub use slots::MOST_ROWS;
pub use timeline::{Counter, EventKind, Lane, LaneEvent, LaneKind, Launch, Timeline, TimelineMark};

const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

impl Page {
    /// Writes the page of `report` to `destination`, whole or not at all.
    pub fn write(&self, report: &Report, destination: &Path) -> Result<(), WriteError> {
        let mut file = create_file(destination)?;
        self.write_to(report, &mut file)
            .and_then(|()| file.commit())
            .map_err(WriteError::writing(destination))
    }

    /// Writes the page of `report` to `output`. The same page gives the same bytes.
    pub fn write_to(&self, report: &Report, mut output: impl Write) -> io::Result<()> {
        write!(
            output,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"generator\" content=\"tracelens {}\">\n\
             <title>tracelens</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<noscript>",
            policy(),
            env!("CARGO_PKG_VERSION"),
        )?;
        fallback::write(self, &mut output)?;
        // The empty drawing gives the script the namespace of drawings, whose name is an address.
        output.write_all(
            b"</noscript>\n<svg id=\"drawing\" width=\"0\" height=\"0\" aria-hidden=\"true\"></svg>\n",
        )?;
        slots::write(self, report, &mut output)?;
        write!(output, "<script>{SCRIPT}</script>\n</body>\n</html>\n")?;
        output.flush()
    }
}

/// What the page may do: run its script, use its style sheet, and nothing else.
fn policy() -> String {
    let hash = |text: &str| BASE64.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

#[cfg(test)]
mod tests;
