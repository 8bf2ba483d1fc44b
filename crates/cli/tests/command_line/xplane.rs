//! Writes XPlane profiles by hand.

/// A field of a protobuf message: a number, or the bytes of a text or message.
pub(crate) fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

pub(crate) fn bytes(field: u64, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    [varint(field << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// An entry of a plane's table of events (4) or statistics (5): its number and its name.
fn named(table: u64, id: u64, name: &str) -> Vec<u8> {
    entry(table, id, name, &[])
}

fn entry(table: u64, id: u64, name: &str, more: &[u8]) -> Vec<u8> {
    bytes(table, [number(1, id), bytes(2, [&number(1, id), &bytes(2, name), more].concat())].concat())
}

/// A GPU that ran these kernels one after the other for so many microseconds, each for the instruction of its name.
pub(crate) fn gpu<'n>(device: u64, kernels: &[(&'n str, u64)]) -> Vec<u8> {
    let mut start = 0;
    let placed = |&(name, us): &(&'n str, u64)| {
        start += us + 1;
        (name, start - us - 1, us)
    };
    gpu_at(device, &kernels.iter().map(placed).collect::<Vec<_>>())
}

/// A GPU that ran these kernels, each for the instruction of its name.
pub(crate) fn gpu_at(device: u64, kernels: &[Event<'_>]) -> Vec<u8> {
    let mut plane = [number(1, device), bytes(2, format!("/device:GPU:{device}"))].concat();
    plane.extend([named(5, 1, "hlo_op"), named(5, 2, "hlo_module"), named(5, 3, "program_id")].concat());
    let mut line = [number(1, 7), bytes(2, "Stream #7(Kernel)")].concat();
    for (at, (name, start, us)) in kernels.iter().enumerate() {
        let id = at as u64 + 1;
        plane.extend(named(4, id, name));
        let text = |stat, text: &str| bytes(4, [number(1, stat), bytes(5, text)].concat());
        let stats = [text(1, name), text(2, "jit_f"), bytes(4, [number(1, 3), number(4, 9)].concat())];
        let place = [number(1, id), number(2, start * 1_000_000), number(3, us * 1_000_000)];
        line.extend(bytes(4, [place.concat(), stats.concat()].concat()));
    }
    plane.extend(bytes(3, line));
    bytes(1, plane)
}

/// Name, start and length in microseconds.
type Event<'n> = (&'n str, u64, u64);

/// A plane of named lines with events.
pub(crate) fn plane(id: u64, name: &str, lines: &[(&str, Vec<Event<'_>>)]) -> Vec<u8> {
    let mut plane = [number(1, id), bytes(2, name)].concat();
    let mut kinds = 0;
    for (at, (name, events)) in lines.iter().enumerate() {
        let mut line = [number(1, at as u64 + 1), bytes(2, name)].concat();
        for (name, start, us) in events {
            kinds += 1;
            plane.extend(named(4, kinds, name));
            let place = [number(1, kinds), number(2, start * 1_000_000), number(3, us * 1_000_000)];
            line.extend(bytes(4, place.concat()));
        }
        plane.extend(bytes(3, line));
    }
    bytes(1, plane)
}

/// The program that the kernels belong to, with `dot.1`, the product of two f32[1024,1024], and `all-reduce.1` of such
/// a one in the groups {0,2} and {1,3}.
pub(crate) fn program() -> Vec<u8> {
    let instruction = |id, name: &str, opcode: &str, more: &[Vec<u8>]| {
        let shape = bytes(3, [number(2, 11), number(3, 1024), number(3, 1024)].concat());
        let head = [bytes(1, name), bytes(2, opcode), shape, number(35, id)].concat();
        bytes(2, [head, more.concat()].concat())
    };
    let group = |ranks: [u64; 2]| bytes(49, ranks.map(|rank| number(1, rank)).concat());
    let contracted = bytes(30, [number(1, 1), number(2, 0)].concat());
    let instructions = [
        instruction(1, "p.1", "parameter", &[]),
        instruction(2, "p.2", "parameter", &[]),
        instruction(3, "dot.1", "dot", &[number(36, 1), number(36, 2), contracted]),
        instruction(4, "all-reduce.1", "all-reduce", &[number(36, 3), group([0, 2]), group([1, 3])]),
    ];
    let computation = [bytes(1, "main"), number(5, 1), number(6, 4), instructions.concat()].concat();
    let module = [bytes(1, "jit_f"), bytes(3, computation), number(5, 1), number(6, 1)].concat();
    let proto = bytes(5, [number(1, 1), bytes(6, bytes(1, module))].concat());
    let plane = [bytes(2, "/host:metadata"), named(5, 1, "Hlo Proto"), entry(4, 9, "jit_f(9)", &proto)];
    bytes(1, plane.concat())
}
