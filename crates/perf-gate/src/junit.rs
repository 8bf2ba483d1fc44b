//! A verdict as JUnit XML, which systems for continuous integration show as tests.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use sheets::escaped;

use crate::comparability::CheckOutcome;
use crate::gate::{Gate, MetricResult, Verdict};
use crate::rule::Decision;

/// What became of a metric, as an element of its case.
enum Outcome {
    Passed,
    Failure(String),
    /// Its type and message.
    Error(&'static str, String),
    Skipped(String),
}

impl Gate {
    /// The verdict as JUnit XML: a case for each metric, whose time is that of the candidate's step. A metric that is slower
    /// is a failure, recordings that are not comparable are an error, and those that do not tell are skipped.
    ///
    /// # Errors
    /// Never in practice: nothing is written but memory.
    pub fn to_junit(&self) -> io::Result<String> {
        let outcomes: Vec<(&MetricResult, Outcome)> =
            self.metrics.iter().map(|metric| (metric, self.outcome(metric))).collect();
        let count = |is_meant: fn(&Outcome) -> bool| {
            outcomes.iter().filter(|(_, outcome)| is_meant(outcome)).count().to_string()
        };
        let tests = outcomes.len().to_string();
        let failures = count(|outcome| matches!(outcome, Outcome::Failure(_)));
        let errors = count(|outcome| matches!(outcome, Outcome::Error(..)));
        let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
        let totals = [
            ("name", "tracelens gate"),
            ("tests", &tests),
            ("failures", &failures),
            ("errors", &errors),
            ("skipped", &skipped),
        ];
        let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
        writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        writer.create_element("testsuites").write_inner_content(|writer| {
            let suite = writer.create_element("testsuite").with_attributes(totals);
            suite.write_inner_content(|writer| {
                for (metric, outcome) in &outcomes {
                    write_case(writer, metric, outcome)?;
                }
                Ok(())
            })?;
            Ok(())
        })?;
        let mut text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
        text.push('\n');
        Ok(text)
    }

    fn outcome(&self, metric: &MetricResult) -> Outcome {
        if self.verdict == Verdict::NotComparable {
            let refusing =
                self.comparability.checks.iter().filter(|check| check.outcome == CheckOutcome::Refuse);
            let found: Vec<String> = refusing
                .map(|check| {
                    format!("{}: {} {}: {}", check.check, check.side.as_str(), check.file, check.found)
                })
                .collect();
            return Outcome::Error("not-comparable", found.join("\n"));
        }
        let message = metric.in_words();
        match metric.decision {
            Decision::Pass | Decision::Improved => Outcome::Passed,
            Decision::Fail => Outcome::Failure(message),
            Decision::Inconclusive => match self.lets_through() {
                Some(false) => Outcome::Failure(message),
                _ => Outcome::Skipped(format!("{message}; to decide, {}", self.advice())),
            },
        }
    }
}

fn write_case(writer: &mut Writer<Vec<u8>>, metric: &MetricResult, outcome: &Outcome) -> io::Result<()> {
    let name = metric.metric.to_string();
    let name = escaped(&name);
    let mut case = writer
        .create_element("testcase")
        .with_attributes([("classname", "tracelens.gate"), ("name", &*name)]);
    let seconds = format!("{:.9}", metric.values[1] / 1e9);
    if !metric.metric.is_count() {
        case = case.with_attribute(("time", &*seconds));
    }
    let (element, kind, message) = match outcome {
        Outcome::Passed => return case.write_empty().map(drop),
        Outcome::Failure(message) => ("failure", "slower", message),
        Outcome::Error(kind, message) => ("error", *kind, message),
        Outcome::Skipped(message) => ("skipped", "", message),
    };
    let lines: Vec<_> = message.lines().map(escaped).collect();
    let message = lines.join("\n");
    case.write_inner_content(|writer| {
        let first = lines.first().map_or("", |line| &**line);
        let mut inner = writer.create_element(element).with_attribute(("message", first));
        if !kind.is_empty() {
            inner = inner.with_attribute(("type", kind));
        }
        inner.write_text_content(BytesText::new(&message)).map(drop)
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quick_xml::Reader;

    use super::*;
    use crate::fixture::recording_of;
    use crate::recording::Recording;
    use crate::thresholds::{GatedMetric, Thresholds};

    fn thresholds(metric: &str) -> Thresholds {
        let metrics = [metric, "kernel_count"].map(|name| GatedMetric::new(name.parse().unwrap()));
        Thresholds { metrics: metrics.to_vec(), ..Thresholds::default() }
    }

    /// Names of the elements with the values of their attributes.
    fn elements(xml: &str) -> Vec<String> {
        let mut reader = Reader::from_str(xml);
        let mut found = Vec::new();
        loop {
            match reader.read_event().unwrap() {
                Event::Start(element) | Event::Empty(element) => {
                    let values = element.attributes().map(|attribute| {
                        let attribute = attribute.unwrap();
                        let value = quick_xml::escape::unescape(&attribute.value).unwrap();
                        let key: &str = attribute.key.as_ref();
                        format!("{key}={value}")
                    });
                    let name: String = AsRef::<str>::as_ref(&element.name()).to_owned();
                    found.push([name].into_iter().chain(values).collect::<Vec<_>>().join(" "));
                }
                Event::Eof => return found,
                _ => {}
            }
        }
    }

    #[test]
    fn a_case_per_metric_says_what_became_of_it() {
        let name = "<a & \"b\"\n]]>";
        let of = |times: &[i64]| recording_of(&[(name, times)]);
        let gate = |b: Recording| {
            Gate::new(
                vec![of(&[1_000_000; 5])],
                vec![b],
                &thresholds(&format!("op:{name}")),
                &BTreeSet::new(),
            )
            .unwrap()
        };
        let xml = elements(&gate(of(&[1_300_000; 5])).to_junit().unwrap());
        assert_eq!(xml[1], "testsuite name=tracelens gate tests=2 failures=1 errors=0 skipped=0");
        assert_eq!(xml[2], "testcase classname=tracelens.gate name=op:<a & \"b\"\\n]]> time=0.001300000");
        assert!(xml[3].starts_with("failure message=op:<a & \"b\"\\n]]> +30.0%"), "{xml:?}");
        assert_eq!(xml[4], "testcase classname=tracelens.gate name=kernel_count");

        let xml = elements(&gate(of(&[1_300_000; 2])).to_junit().unwrap());
        assert!(xml[1].ends_with("failures=0 errors=0 skipped=1"), "{xml:?}");

        let mut other = of(&[1_000_000; 5]);
        other.setup.truncated = true;
        let xml = elements(&gate(other).to_junit().unwrap());
        assert!(xml[1].ends_with("failures=0 errors=2 skipped=0"), "{xml:?}");
        assert!(
            xml[3].starts_with("error message=truncated: candidate ")
                && xml[3].ends_with("type=not-comparable"),
            "{xml:?}"
        );
    }
}
