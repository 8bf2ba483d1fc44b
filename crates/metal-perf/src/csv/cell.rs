//! Cells of a CSV file.

use std::io::{self, Write};

use trace_ingest::write_float;

/// A line of a CSV file, cell by cell.
pub(super) struct Line<'a, W> {
    out: &'a mut W,
    ending: &'static str,
    first: bool,
    text: String,
}

impl<'a, W: Write> Line<'a, W> {
    pub(super) fn new(out: &'a mut W, ending: &'static str) -> Self {
        Line { out, ending, first: true, text: String::new() }
    }

    pub(super) fn end(&mut self) -> io::Result<()> {
        self.first = true;
        self.out.write_all(self.ending.as_bytes())
    }

    pub(super) fn empty(&mut self) -> io::Result<()> {
        if !self.first {
            self.out.write_all(b",")?;
        }
        self.first = false;
        Ok(())
    }

    /// A text that cannot be taken for a formula: a spreadsheet would run what starts with one of these characters.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        self.empty()?;
        let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
        if text.contains([',', '"', '\r', '\n']) {
            write!(self.out, "\"{guard}{}\"", text.replace('"', "\"\""))
        } else {
            write!(self.out, "{guard}{text}")
        }
    }

    pub(super) fn whole(&mut self, value: Option<impl Into<i64>>) -> io::Result<()> {
        self.empty()?;
        value.map_or(Ok(()), |value| write!(self.out, "{}", value.into()))
    }

    /// The shortest digits that read back as the same number, `.0` on whole numbers; figures that do not exist are
    /// empty.
    pub(super) fn float(&mut self, value: Option<f64>) -> io::Result<()> {
        self.empty()?;
        let Some(value) = value.filter(|value| value.is_finite()) else { return Ok(()) };
        self.text.clear();
        // Writing to a text cannot fail.
        let _ = write_float(&mut self.text, value);
        self.out.write_all(self.text.as_bytes())
    }

    /// A number with two digits behind the point.
    pub(super) fn rounded(&mut self, value: Option<f64>) -> io::Result<()> {
        self.empty()?;
        value.filter(|value| value.is_finite()).map_or(Ok(()), |value| write!(self.out, "{value:.2}"))
    }

    pub(super) fn flag(&mut self, value: bool) -> io::Result<()> {
        self.empty()?;
        self.out.write_all(if value { b"True" } else { b"False" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(write: impl FnOnce(&mut Line<'_, Vec<u8>>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        let mut line = Line::new(&mut out, "\r\n");
        write(&mut line).unwrap();
        line.end().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts_are_quoted_only_where_they_must_be() {
        let cases = [
            ("BF16 => BF16", "BF16 => BF16"),
            ("UINT32, BF16 => BF16", "\"UINT32, BF16 => BF16\""),
            ("say \"so\"", "\"say \"\"so\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("", ""),
        ];
        for (text, cell) in cases {
            assert_eq!(line(|line| line.text(text)), format!("{cell}\r\n"));
        }
    }

    #[test]
    fn texts_that_a_spreadsheet_would_run_are_guarded() {
        for start in ["=", "+", "-", "@", "\t"] {
            assert_eq!(line(|line| line.text(&format!("{start}1"))), format!("'{start}1\r\n"));
        }
        assert_eq!(line(|line| line.text("\r1")), "\"'\r1\"\r\n");
        assert_eq!(line(|line| line.text("=a,b")), "\"'=a,b\"\r\n");
        assert_eq!(line(|line| line.text("a=b")), "a=b\r\n");
    }

    #[test]
    fn numbers_read_back_as_the_same_number() {
        let cases = [
            (Some(10.0), "10.0"),
            (Some(3.866_813_413_046_514e-5), "3.866813413046514e-05"),
            (Some(195.727625), "195.727625"),
            (Some(1e16), "1e+16"),
            (Some(f64::NAN), ""),
            (None, ""),
        ];
        for (value, cell) in cases {
            assert_eq!(line(|line| line.float(value)), format!("{cell}\r\n"));
        }
        assert_eq!(line(|line| line.whole(Some(-3_i64))), "-3\r\n");
        assert_eq!(line(|line| line.rounded(Some(267.065))), "267.06\r\n");
    }

    #[test]
    fn cells_are_parted_by_commas() {
        let cells = line(|line| {
            line.whole(Some(2_u32))?;
            line.float(None)?;
            line.flag(false)?;
            line.empty()
        });
        assert_eq!(cells, "2,,False,\r\n");
    }
}
