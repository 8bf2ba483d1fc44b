//! Where queries run.

use std::fmt;
use std::str::FromStr;

/// What runs a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// DataFusion in this process.
    #[default]
    DataFusion,
    /// Ballista: executors of a cluster, which must see the tables at the same path.
    Ballista {
        /// Host and port of the scheduler: `10.0.0.1:50050`.
        scheduler: String,
    },
}

/// A text that names no engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown engine {found:?}; expected datafusion, or ballista=df://HOST:PORT with the scheduler's address"
)]
pub struct UnknownEngine {
    /// The text.
    pub found: String,
}

impl FromStr for Engine {
    type Err = UnknownEngine;

    fn from_str(text: &str) -> Result<Self, UnknownEngine> {
        let unknown = || UnknownEngine { found: text.to_owned() };
        if text == "datafusion" {
            return Ok(Engine::DataFusion);
        }
        let scheduler = text.strip_prefix("ballista=df://").ok_or_else(unknown)?;
        let is_address = scheduler.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok()
        });
        match is_address {
            true => Ok(Engine::Ballista { scheduler: scheduler.to_owned() }),
            false => Err(unknown()),
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Engine::DataFusion => f.write_str("DataFusion"),
            Engine::Ballista { scheduler } => write!(f, "Ballista at {scheduler}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_named_with_the_address_of_their_scheduler() {
        assert_eq!("datafusion".parse(), Ok(Engine::DataFusion));
        let scheduler = "127.0.0.1:50050".to_owned();
        assert_eq!("ballista=df://127.0.0.1:50050".parse(), Ok(Engine::Ballista { scheduler }));
        for wrong in [
            "",
            "spark",
            "ballista",
            "ballista=",
            "ballista=df://",
            "ballista=df://host",
            "ballista=df://:1",
            "ballista=df://h:x",
        ] {
            assert_eq!(wrong.parse::<Engine>(), Err(UnknownEngine { found: wrong.to_owned() }));
        }
    }
}
