//! Tables of a rocpd database that describe what records refer to.

use hashbrown::HashMap;

use super::context::{Context, Event, Key, Track};
use crate::json::scanner::Scanner;
use crate::rocprof::json::described_agent;
use crate::rocprof::kernel_names;
use crate::rocprof::profile::{AgentKind, Counter, Kernel, Launch, Process};
use crate::sqlite::Broken;
use crate::string_table::StringId;
use crate::time::Nanoseconds;
use crate::warning::Warning;

/// Major versions of the schema that are known; the later gives times by reference.
const KNOWN_MAJORS: [&str; 2] = ["3", "4"];

impl Context<'_> {
    /// Reads what records refer to.
    pub(super) fn read_descriptions(&mut self) -> Result<(), Broken> {
        self.check_version()?;
        self.rows("rocpd_string", &["id", "string"], |context, row, _| {
            let text = context.text(row, 1).unwrap_or(StringId::EMPTY);
            context.strings.insert((row.run, row.required(0)?), text);
            Ok(())
        })?;
        self.rows("rocpd_info_node", &["id", "hostname"], |context, row, _| {
            if let Some(name) = context.owned_text(row, 1) {
                context.hosts.insert((row.run, row.required(0)?), name);
            }
            Ok(())
        })?;
        self.rows("rocpd_info_process", &["id", "nid", "pid", "init", "fini"], |context, row, _| {
            let id = row.required(0)?;
            let hostname = row.integer(1)?.and_then(|node| context.hosts.get(&(row.run, node)).cloned());
            let processes = &mut context.builder.profile.processes;
            context.processes.insert((row.run, id), processes.len() as u32);
            processes.push(Process {
                pid: row.integer(2)?.or(Some(id)),
                hostname,
                init: row.integer(3)?.map(Nanoseconds),
                fini: row.integer(4)?.map(Nanoseconds),
            });
            Ok(())
        })?;
        self.rows("rocpd_info_thread", &["id", "tid"], |context, row, _| {
            context.threads.insert((row.run, row.required(0)?), row.required(1)?);
            Ok(())
        })?;
        self.read_agents()?;
        self.read_kernels()?;
        self.rows(
            "rocpd_info_pmc",
            &["id", "name", "description", "block", "expression"],
            |context, row, _| {
                let id = row.required(0)?;
                let name = context.owned_text(row, 1).unwrap_or_default();
                // Databases list all counters that the hardware has; those without a value are not shown.
                let [description, block, expression] =
                    [2, 3, 4].map(|column| context.owned_text(row, column).filter(|text| !text.is_empty()));
                let key = (row.run, id);
                context.described_counters.insert(key, Counter { name, description, block, expression });
                Ok(())
            },
        )?;
        self.read_tracks()?;
        self.read_events()
    }

    /// Warns of a schema whose meaning may be another one. Versions of a known one add tables and columns.
    fn check_version(&mut self) -> Result<(), Broken> {
        const TABLE: &str = "rocpd_metadata";
        let mut unknown = None;
        self.rows(TABLE, &["tag", "value"], |context, row, _| {
            let version = context.owned_text(row, 1).filter(|_| row.text(0) == Some(b"schema_version"));
            let major = |version: &str| version.split('.').next().unwrap_or_default().trim().to_owned();
            unknown = version.filter(|version| !KNOWN_MAJORS.contains(&&*major(version))).or(unknown.take());
            Ok(())
        })?;
        self.builder.profile.warnings.extend(unknown.map(|version| {
            let version: String = version.chars().filter(|letter| !letter.is_control()).take(20).collect();
            let known = KNOWN_MAJORS.join(" and ");
            let detail = format!("unknown schema version {version}, read as {known}");
            Warning::UnreadableFact { key: TABLE, detail }
        }));
        Ok(())
    }

    fn read_tracks(&mut self) -> Result<(), Broken> {
        const COLUMNS: [&str; 7] = ["id", "pid", "tid", "agent_id", "queue_id", "stream_id", "name_id"];
        self.rows("rocpd_track", &COLUMNS, |context, row, _| {
            let track = Track {
                process: row.integer(1)?,
                thread: row.integer(2)?,
                agent: row.integer(3)?,
                queue: row.integer(4)?,
                stream: row.integer(5)?,
                name: row.integer(6)?,
            };
            context.tracks.insert((row.run, row.required(0)?), track);
            Ok(())
        })?;
        self.rows("rocpd_timestamp", &["id", "value"], |context, row, _| {
            context.timestamps.insert((row.run, row.required(0)?), row.required(1)?);
            Ok(())
        })
    }

    fn read_events(&mut self) -> Result<(), Broken> {
        // Newer databases name categories in a table of their own.
        let mut categories: Option<HashMap<Key, StringId>> = None;
        if self.schema.has("rocpd_info_category") {
            let mut named = HashMap::new();
            self.rows("rocpd_info_category", &["id", "name", "name_id"], |context, row, _| {
                let name = match row.integer(2)? {
                    Some(name) => context.string(row.run, Some(name)),
                    None => context.text(row, 1).unwrap_or(StringId::EMPTY),
                };
                named.insert((row.run, row.required(0)?), name);
                Ok(())
            })?;
            categories = Some(named);
        }
        const COLUMNS: [&str; 5] = ["id", "category_id", "stack_id", "correlation_id", "extdata"];
        self.rows("rocpd_event", &COLUMNS, |context, row, columns| {
            let category = row.integer(1)?;
            let category = match &categories {
                Some(named) => {
                    category.and_then(|id| named.get(&(row.run, id)).copied()).unwrap_or(StringId::EMPTY)
                }
                None => context.string(row.run, category),
            };
            // The profiler's own number of a call is the stack id; what it calls correlation id is the number that
            // the program gave. Only a database without the former is taken to mean the latter.
            let correlation = row.integer(if columns.has(2) { 2 } else { 3 })?;
            let message =
                row.text(4).and_then(message).map(|text| context.builder.profile.strings.intern(&text));
            let event = Event { category, correlation: correlation.map(|id| id as u64), message };
            context.events.insert((row.run, row.required(0)?), event);
            Ok(())
        })
    }

    fn read_agents(&mut self) -> Result<(), Broken> {
        const COLUMNS: [&str; 9] = [
            "id",
            "nid",
            "type",
            "absolute_index",
            "logical_index",
            "type_index",
            "name",
            "product_name",
            "extdata",
        ];
        self.rows("rocpd_info_agent", &COLUMNS, |context, row, _| {
            let id = row.required(0)?;
            let host = row.integer(1)?.and_then(|node| context.hosts.get(&(row.run, node)).cloned());
            let node_id = row.integer(3)?.or(Some(id));
            // A text that is no such object says nothing.
            let mut text = Scanner::new(row.text(8).unwrap_or_default());
            let mut agent = described_agent(&mut context.builder.invalid_utf8, &mut text).unwrap_or_default();
            agent.memory_bytes = agent.memory_bytes.filter(|&bytes| bytes > 0);
            agent.kind = match row.text(2).unwrap_or_default() {
                b"CPU" => AgentKind::Cpu,
                b"GPU" => AgentKind::Gpu,
                _ => agent.kind,
            };
            agent.label = format!("Agent {}", node_id.unwrap_or(id));
            agent.node_id = node_id;
            agent.logical_node_id = row.integer(4)?.or(agent.logical_node_id);
            agent.ordinal = row.integer(5)?.or(agent.ordinal);
            agent.name = context.owned_text(row, 6).or(agent.name);
            agent.product_name =
                context.owned_text(row, 7).filter(|name| !name.is_empty()).or(agent.product_name);
            let position = context.machines.agent(&mut context.builder, host.as_deref(), agent);
            context.agents.insert((row.run, id), position);
            Ok(())
        })
    }

    fn read_kernels(&mut self) -> Result<(), Broken> {
        const COLUMNS: [&str; 8] = [
            "id",
            "pid",
            "kernel_name",
            "display_name",
            "arch_vgpr_count",
            "accum_vgpr_count",
            "sgpr_count",
            "extdata",
        ];
        self.rows("rocpd_info_kernel_symbol", &COLUMNS, |context, row, _| {
            let id = row.required(0)?;
            let process = context.process(row.run, row.integer(1)?);
            let (vgprs, accum_vgprs, sgprs) = (row.size(4, 0)?, row.size(5, 0)?, row.size(6, 0)?);
            let registers = Launch { vgprs, accum_vgprs, sgprs, ..Launch::default() };
            let names: SymbolNames =
                row.text(7).and_then(|text| serde_json::from_slice(text).ok()).unwrap_or_default();
            let mangled = context.text(row, 2);
            let formatted = context.text(row, 3);
            let strings = &mut context.builder.profile.strings;
            let mut given = |name: Option<String>| name.map(|name| strings.intern(&name));
            let formatted = formatted.or_else(|| given(names.formatted_kernel_name));
            let (demangled, truncated) =
                (given(names.demangled_kernel_name), given(names.truncated_kernel_name));
            let truncated = truncated.or_else(|| {
                let of = |name: StringId| strings.get(name);
                let short =
                    kernel_names::truncated_from_symbol(mangled.map(of), formatted.map(of))?.into_owned();
                Some(strings.intern(&short))
            });
            let kernel = Kernel { process, id: Some(id as u64), mangled, demangled, formatted, truncated };
            let position = context.builder.add_kernel(kernel);
            context.kernels.insert((row.run, id), (position, registers));
            Ok(())
        })
    }
}

/// Names in the description of a kernel symbol.
#[derive(Default, serde::Deserialize)]
struct SymbolNames {
    formatted_kernel_name: Option<String>,
    demangled_kernel_name: Option<String>,
    truncated_kernel_name: Option<String>,
}

/// Text of a marker in the data of its event: `{"message": "step 1"}`.
fn message(data: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Data {
        message: Option<String>,
    }
    // Nearly all events have none.
    if data.len() <= 2 {
        return None;
    }
    serde_json::from_slice::<Data>(data).ok()?.message.filter(|message| !message.is_empty())
}
