//! The lines that the profiler's trace viewer derives from a GPU's kernels. They say nothing that the
//! kernels do not, so they are counted, not kept: the viewer numbers its events with them.
//!
//! One stream of each GPU, the one with most events, is the source. Kernels that follow each other and
//! share a key (module, operation, name scope, source line) become one event per level. The rules are those
//! of OpenXLA's `xprof/utils/derived_timeline.cc`.

use hashbrown::HashMap;

use super::facts::Facts;
use super::programs::{InstructionIndex, Programs};
use crate::string_table::{StringId, StringTable};

/// Thread numbers of the derived lines begin here, and of none of the recorded ones.
const FIRST_THREAD: i64 = 0xDEAD_BEEF;

/// Threads of name scopes, framework operations, modules, operations and source lines.
const THREADS: [i64; 5] =
    [FIRST_THREAD + 2, FIRST_THREAD + 3, FIRST_THREAD + 4, FIRST_THREAD + 5, FIRST_THREAD + 7];

/// Whether a line of this thread number was derived when the profile was recorded.
pub(crate) fn is_derived_thread(thread: i64) -> bool {
    (FIRST_THREAD..FIRST_THREAD + 16).contains(&thread)
}

/// The derived lines of one GPU.
#[derive(Default)]
pub(crate) struct DerivedLines {
    scopes: Levels,
    framework: Levels,
    modules: Levels,
    operations: Levels,
    source: Levels,
    keys: StringTable,
    resolved: HashMap<Call, Resolved>,
}

/// What the keys of a kernel depend on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Call {
    hlo_op: StringId,
    hlo_module: StringId,
    program_id: Option<u64>,
    framework_operation: StringId,
}

/// Keys of a kernel on each line.
#[derive(Default)]
struct Resolved {
    module: Option<StringId>,
    operations: Option<Vec<StringId>>,
    scopes: Option<Vec<StringId>>,
    framework: Option<StringId>,
    source: Option<StringId>,
}

/// A derived line: what is open on each level.
#[derive(Default)]
struct Levels {
    open: Vec<(StringId, Option<i64>)>,
    events: u32,
}

impl Levels {
    /// Goes on with these keys, from the outermost. Returns whether the outermost level was begun anew.
    fn write(&mut self, keys: &[StringId], group: Option<i64>) -> bool {
        let mut restarted = false;
        for (level, &key) in keys.iter().enumerate() {
            if self.open.get(level) == Some(&(key, group)) {
                continue;
            }
            restarted |= level == 0;
            self.open.truncate(level);
            self.open.push((key, group));
            self.events = self.events.saturating_add(1);
        }
        self.open.truncate(keys.len());
        restarted
    }

    fn close(&mut self) {
        self.open.clear();
    }
}

impl DerivedLines {
    /// How many events the line at this position of [`DerivedLines::threads`] has so far.
    pub(crate) fn events(&self, slot: usize) -> u32 {
        let lines = [&self.scopes, &self.framework, &self.modules, &self.operations, &self.source];
        lines.get(slot).map_or(0, |line| line.events)
    }

    /// Threads that the lines have in the viewer, ascending.
    pub(crate) fn threads() -> impl Iterator<Item = i64> {
        THREADS.into_iter()
    }

    /// Takes the next kernel of the source.
    pub(crate) fn add(
        &mut self,
        facts: &Facts,
        strings: &StringTable,
        programs: &Programs,
        instructions: &mut InstructionIndex,
    ) {
        if facts.kernel_details == StringId::EMPTY && !facts.is_graph {
            return;
        }
        let call = Call {
            hlo_op: facts.hlo_op,
            hlo_module: facts.hlo_module,
            program_id: facts.program_id,
            framework_operation: facts.framework_operation,
        };
        let keys = &mut self.keys;
        let resolved =
            self.resolved.entry(call).or_insert_with(|| resolve(call, keys, strings, programs, instructions));
        let group = facts.group;
        if let Some(module) = resolved.module
            && self.modules.write(&[module], group)
        {
            self.scopes.close();
            self.framework.close();
            self.operations.close();
        }
        if let Some(operations) = &resolved.operations {
            self.operations.write(operations, group);
        }
        if let Some(scopes) = &resolved.scopes
            && self.scopes.write(scopes, group)
        {
            self.framework.close();
        }
        if let Some(framework) = resolved.framework {
            self.framework.write(&[framework], group);
        }
        if let Some(source) = resolved.source {
            self.source.write(&[source], group);
        }
    }
}

fn resolve(
    call: Call,
    keys: &mut StringTable,
    strings: &StringTable,
    programs: &Programs,
    instructions: &mut InstructionIndex,
) -> Resolved {
    let mut resolved = Resolved::default();
    let program = call.program_id.map_or(String::new(), |id| id.to_string());
    if call.hlo_module != StringId::EMPTY {
        resolved.module = Some(keys.intern(&format!("{}({program})", strings.get(call.hlo_module))));
    }
    let mut name = String::new();
    if call.hlo_op == StringId::EMPTY {
        name.push_str(strings.get(call.framework_operation));
    } else {
        let path = strings.get(call.hlo_op);
        let operations = path.split("::").map(|operation| keys.intern(&format!("{program}/{operation}")));
        resolved.operations = Some(operations.collect());
        let innermost = path.rsplit("::").next().unwrap_or(path);
        if let Some(instruction) = instructions.find(programs, call.program_id, innermost) {
            name = format!("{}:{}", instruction.op_name, instruction.op_type);
            if !instruction.source_file.is_empty() {
                let file = instruction.source_file.rsplit('/').next().unwrap_or_default();
                resolved.source = Some(keys.intern(&format!("{file}:{}", instruction.source_line)));
            }
        }
    }
    if !name.is_empty() {
        let (operation, kind) = name.split_once(':').unwrap_or((&name, ""));
        if is_framework_operation(operation, kind) {
            let mut scopes: Vec<_> = operation.split('/').map(|scope| keys.intern(scope)).collect();
            scopes.pop();
            // An operation outside all scopes leaves those of the one before open.
            resolved.scopes = (!scopes.is_empty()).then_some(scopes);
        }
        resolved.framework = Some(keys.intern(&name));
    }
    resolved
}

/// Whether a name is that of a TensorFlow or JAX operation, as opposed to anything else.
fn is_framework_operation(operation: &str, kind: &str) -> bool {
    let begins = |text: &str, first: fn(&u8) -> bool, rest: fn(&u8) -> bool| {
        text.as_bytes().split_first().is_some_and(|(head, tail)| first(head) && tail.iter().all(rest))
    };
    let tensorflow = begins(
        operation,
        |byte| byte.is_ascii_alphanumeric() || *byte == b'.',
        |byte| byte.is_ascii_alphanumeric() || b"_.\\/>-".contains(byte),
    ) && begins(
        kind,
        |byte| byte.is_ascii_uppercase() || *byte == b'_',
        |byte| byte.is_ascii_alphanumeric() || *byte == b'_',
    );
    let last = operation.rsplit('/').next().unwrap_or(operation);
    let unnumbered = last
        .rsplit_once('_')
        .filter(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    let jax_operation = if kind.is_empty() { unnumbered.map_or(last, |(name, _)| name) } else { kind };
    let (name, parameters) =
        jax_operation.split_once('[').map_or((jax_operation, None), |(name, rest)| (name, Some(rest)));
    let jax = begins(
        name,
        |byte| byte.is_ascii_lowercase() || *byte == b'_',
        |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_',
    ) && parameters.is_none_or(|rest| rest.ends_with(']'));
    tensorflow || jax || kind.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_neighbours_are_one_event_per_level() {
        let mut table = StringTable::default();
        let [a, b, c] = ["a", "b", "c"].map(|text| table.intern(text));
        let mut line = Levels::default();
        assert!(line.write(&[a, b], None));
        assert!(!line.write(&[a, b], None));
        assert!(!line.write(&[a, c], None));
        assert_eq!(line.events, 3);
        assert!(!line.write(&[a], None)); // closes the second level
        assert!(!line.write(&[a, c], None));
        assert_eq!(line.events, 4);
        assert!(line.write(&[a, c], Some(1))); // another step
        assert_eq!(line.events, 6);
        line.close();
        assert!(line.write(&[a, c], Some(1)));
        assert_eq!(line.events, 8);
    }

    #[test]
    fn names_of_frameworks_are_told_from_others() {
        for (operation, kind, expected) in [
            ("model/dense/MatMul", "MatMul", true),
            ("jit(f)/jit(main)/dot_general", "dot_general", true),
            ("jit(f)/jit(main)/dot_general[a=1]", "", true),
            ("XlaModule", "", true),
            ("anything at all", "", true),
            ("anything at all", "Some Thing", false),
            ("a b", "X[", false),
        ] {
            assert_eq!(is_framework_operation(operation, kind), expected, "{operation}:{kind}");
        }
    }
}
