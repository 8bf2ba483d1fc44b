//! Scripts that would take all memory, in one call or in few.

use std::time::{Duration, Instant};

use script_extension::{Extension, Limits};
use tree_perf::AnalysisExtension;

fn limits() -> Limits {
    Limits { memory_bytes: 64 << 20, ..Limits::default() }
}

/// The error of a script, which comes within moments.
#[track_caller]
fn refusal(text: &str) -> String {
    let begun = Instant::now();
    let error = match Extension::load_with("my.star", text, limits()) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    };
    assert!(begun.elapsed() < Duration::from_secs(20), "{text}: {error} took {:?}", begun.elapsed());
    assert!(error.starts_with("my.star:"), "{error}");
    error
}

/// What a script prints.
#[track_caller]
fn printed(text: &str) -> Vec<String> {
    let extension =
        Extension::load_with("my.star", text, limits()).unwrap_or_else(|error| panic!("{text}: {error}"));
    extension.notices().iter().map(|notice| notice.to_string().replace("my.star: ", "")).collect()
}

#[test]
fn operators_that_repeat_are_refused_before_they_do() {
    for (text, expected) in [
        ("x = 'a' * 1000000000", "a text would be longer than 1024 KiB"),
        ("x = 2000000000 * 'a'", "a text would be longer than 1024 KiB"),
        ("x = [0] * 10000000000", "the script holds more than 64 MiB"),
        ("x = 2000000000 * [0]", "the script holds more than 64 MiB"),
        ("x = (0, 1) * 2000000000", "the script holds more than 64 MiB"),
        ("x = 'a'\nx *= 1000000000", "my.star:2: a text would be longer"),
        ("x = ['a']\nx[0] *= 1000000000", "my.star:2: a text would be longer"),
        ("x = {'k': 'a'}\nx['k'] *= 1000000000", "my.star:2: a text would be longer"),
        ("x = [0]\nfor i in range(60):\n    x = x + x", "my.star:3: the script holds more than 64 MiB"),
        ("x = [0]\nfor i in range(60):\n    x += x", "my.star:3: the script holds more than 64 MiB"),
        ("x = 'a'\nfor i in range(60):\n    x += x", "my.star:3: "),
        ("x = 'a' * 1000000\ny = [x + str(i) for i in range(1000000)]", "the script holds more than 64 MiB"),
        ("x = 'a' * 1000\nx = '%s%s' % (x * 1000, x * 1000)", "longer than 1024 KiB"),
        ("x = 'a' * 1000\nx = ('%(a)s' * 2000) % {'a': x}", "longer than 1024 KiB"),
        ("x = 1 << 10000000", "a number would have more than 20000 digits"),
        ("x = 1\nx <<= 10000000", "a number would have more than 20000 digits"),
        ("x = 3\nfor i in range(60):\n    x *= x", "my.star:3: a number would have more than 20000 digits"),
    ] {
        let error = refusal(text);
        assert!(error.contains(expected), "{text}: {error}");
        assert!(error.contains("(in loading)"), "{error}");
    }
}

#[test]
fn functions_that_make_much_are_refused_before_they_do() {
    for text in [
        "x = list(range(2000000000))",
        "x = tuple(range(2000000000))",
        "x = sorted(range(2000000000))",
        "x = set(range(2000000000))",
        "x = dict(enumerate(range(2000000000)))",
        "x = reversed(range(2000000000))",
        "x = map(str, range(2000000000))",
        "x = filter(None, range(2000000000))",
        "r = range(1000)\nx = zip(*[r for i in range(10000)])",
        "x = max(range(2000000000))",
        "x = any(range(0, -2000000000, -1))",
        "def f(*given):\n    return 0\nx = f(*range(2000000000))",
        "x = []\nx += range(2000000000)",
        "x = []\nx += (range(2000000000))",
        "x = []\nx.extend(range(2000000000))",
        "x = set()\nx.update(range(2000000000))",
        "x = set().union(range(2000000000))",
        "x = [0]\ny = [x.extend(x) for i in range(60)]",
        "x = [list(range(100000)) for i in range(100000)]",
        "x = [{i: 0, i + 1: 0, i + 2: 0} for i in range(1000000)]",
        "x = [dict([(k, 0) for k in range(1000)]) for i in range(10000)]",
        "x = [{k: 0 for k in range(1000)} for i in range(10000)]",
        "l = list(range(100000))\nx = [l[:] for i in range(100000)]",
        "f = list\nx = [f(range(100000)) for i in range(100000)]",
        "f = list\nx = f(range(2000000000))",
        "x = map(list, [range(2000000000)])",
        "x = partial(sorted, range(2000000000))()",
        "x = [list][0](range(2000000000))",
        "x = set(range(2000))\ny = [x | x for i in range(1000000)]",
        "x = {i: i for i in range(2000)}\ny = [x | {} for i in range(1000000)]",
        "x = {i: i for i in range(2000)}\ny = []\nfor i in range(1000000):\n    z = {}\n    z |= x\n    y.append(z)",
        "x = 'a' * 1000000\ny = map(lambda i: x[i:], range(1000000))",
        "x = [0] * 1000000\ny = sorted(range(1000), key = lambda i: len(x[1:]))",
    ] {
        let error = refusal(text);
        assert!(error.contains("the script holds more than 64 MiB"), "{text}: {error}");
    }
}

#[test]
fn texts_that_grow_in_a_method_are_refused_before_they_do() {
    let nested = "x = [0]\nfor i in range(60):\n    x = [x, x]\n";
    for text in [
        "s = 'a' * 1000000\nx = ''.join([s] * 1000000)".to_owned(),
        "s = 'a' * 1000000\nx = s.join([''] * 1000000)".to_owned(),
        "s = 'a' * 100000\nx = s.replace('a', s)".to_owned(),
        "s = 'a' * 1000000\nx = ('{0}' * 1000).format(s)".to_owned(),
        "s = 'a' * 1000000\nx = ('{a}' * 1000).format(a = s)".to_owned(),
        "s = 'a' * 1000000\nx = ('b' + s)[1:].replace('a', s)".to_owned(),
        "s = 'a' * 1000000\nx = (\n    'b' + s\n).replace('a', s)".to_owned(),
        "s = 'a' * 1000000\nx = s\\\n    .replace('a', s)".to_owned(),
        "s = 'a' * 1000000\nl = [s] * 1000000\nx = f'{l}'".to_owned(),
        "s = 'a' * 1000000\nx = f'{s.replace(\"a\", s)}'".to_owned(),
        format!("{nested}y = str(x)"),
        format!("{nested}y = repr(x)"),
        format!("{nested}print(x)"),
        format!("{nested}fail(x)"),
        format!("{nested}y = '%s' % (x,)"),
        format!("{nested}y = '{{}}'.format(x)"),
        "x = []\nx.append(x)\ny = 'a' + str(x)".to_owned(),
        "x = []\nfor i in range(100000):\n    x = [x]\ny = str(x)".to_owned(),
        "x = int('9' * 1000000)".to_owned(),
    ] {
        let error = refusal(&text);
        let known = ["a text would be longer", "as a text", "more than 20000 digits", "into a variable"];
        assert!(known.iter().any(|known| error.contains(known)), "{text}: {error}");
    }
}

#[test]
fn a_model_and_a_rule_are_bounded_like_loading() {
    let text = "def f(event):\n    return work(flops = len('a' * 1000000000), category = 'x')\n\
        def g(event):\n    x = []\n    for i in range(20):\n        x = [x] * 20\n    return work(flops = 1, category = 'x', params = {'x': x})\n\
        perf_model_extension = {'f': f, 'g': g}";
    let extension = Extension::load_with("my.star", text, limits()).unwrap();
    let reason = |name| {
        let call = perf_models::OpCall { name, ..perf_models::OpCall::default() };
        extension.model(&call).unwrap().unwrap_err().reason.into_owned()
    };
    assert_eq!(reason("f"), "my.star:2: a text would be longer than 1024 KiB");
    let found = reason("g");
    assert!(found.starts_with("my.star:7: x must be a number"), "{found}");
}

#[test]
fn values_nested_deeply_do_not_end_the_program() {
    let nested = "x = [0]\nfor i in range(200000):\n    x = [x]\n";
    for text in [
        format!("{nested}y = x == [x]"),
        format!("{nested}y = (x < [x])"),
        format!("{nested}op_category_extension = x"),
    ] {
        // Whether it is accepted is the interpreter's business.
        let _ = Extension::load_with("my.star", &text, limits());
    }
}

#[test]
fn what_is_not_large_means_what_it_meant() {
    for (text, expected) in [
        ("print(2 * 3 + 4 % 3, 1 << 4, 7.5 * 2, -3 * 2)", "7 16 15.0 -6"),
        ("print('ab' * 2 + 'c', [1] * 2 + [2], 2 * (1, 2))", "ababc [1, 1, 2] (1, 2, 1, 2)"),
        ("print('%s-%d' % ('a', 3), '%r' % 'a')", "a-3 \"a\""),
        ("print(12345678901234567890 * 98765432109876543210)", "1219326311370217952237463801111263526900"),
        ("x = 3\nx *= 2 + 1\nprint(x)", "9"),
        ("x = 3\nx *= (2 + 1)\nprint(x)", "9"),
        ("x = 3\nx *= (2) + 1\nprint(x)", "9"),
        ("x = [3, 4]\ni = 0\nx[i + 1] *= 2\nx[-2] <<= 1\nprint(x)", "[6, 8]"),
        ("x = 17\nx %= 5\nprint(x)", "2"),
        ("x = [1]\ny = x\nx += [2]\ny += (3,)\nx += (4, 5)\nprint(x, y == x)", "[1, 2, 3, 4, 5] True"),
        ("x = [1]\nx += ([2])\nx += [3] + [4]\nx += ([5]) + [6]\nprint(x)", "[1, 2, 3, 4, 5, 6]"),
        ("x = 'a'\nx += 'b' if x else 'c'\nprint(x)", "ab"),
        ("print(', '.join(['a', 'b']).replace('a', 'c').upper().split(', '))", "[\"C\", \"B\"]"),
        ("print(('a' + 'b').join(['1', '2']), ('x').upper(), (('y')).upper())", "1ab2 X Y"),
        ("print((\n    'a b'\n    .split(' ')\n))", "[\"a\", \"b\"]"),
        ("print('{} {b}'.format(1, b = 2), '{}'.format((1, 2)))", "1 2 (1, 2)"),
        ("a = 'x'\nprint(f'{a} {a.upper()} {[1, 2]} {a!r} {{}}', f'{(1, 2)}')", "x X [1, 2] \"x\" {} (1, 2)"),
        ("print([i for i in range(3) if i], {i: i * i for i in range(3)})", "[1, 2] {0: 0, 1: 1, 2: 4}"),
        ("print([i + j for i in range(2) for j in range(2)])", "[0, 1, 1, 2]"),
        (
            "x = {'a': 1}\nx.update({'b': 2}, c = 3)\nx.setdefault('d', 4)\nprint(x, list(x.items())[0], x.keys())",
            "{\"a\": 1, \"b\": 2, \"c\": 3, \"d\": 4} (\"a\", 1) [\"a\", \"b\", \"c\", \"d\"]",
        ),
        ("x = set([1, 2])\nx.add(3)\nprint(x, x.union([4]), len(x))", "set([1, 2, 3]) set([1, 2, 3, 4]) 3"),
        (
            "print(sorted([3, 1, 2], reverse = True), max([1, 5], key = lambda x: -x), max(1, 2))",
            "[3, 2, 1] 1 2",
        ),
        (
            "print(list(zip([1, 2], 'ab'.elems())), list(enumerate(['a'], 1)), dict(a = 1), dict([(1, 2)]))",
            "[(1, \"a\"), (2, \"b\")] [(1, \"a\")] {\"a\": 1} {1: 2}",
        ),
        (
            "def f(*a, **k):\n    return (a, k)\nprint(f(*[1, 2], **{'x': 3}), f(*(1, 2)))",
            "((1, 2), {\"x\": 3}) ((1, 2), {})",
        ),
        ("def f(x: int | None, y: list[str] = []) -> str:\n    return 'ok'\nprint(f(1))", "ok"),
        (
            "s = struct(format = 'f', items = 3, join = lambda x: x + 1)\nprint(s.format, s.items, s.join(1), getattr(s, 'join')(2))",
            "f 3 2 3",
        ),
        ("def list(x):\n    return x\nprint(list(3))", "3"),
        (
            "x = [1, 2]\nx.extend([3])\nx.append(4)\nprint(x, isinstance(x, list), getattr('a', 'upper', 1) if False else 1)",
            "[1, 2, 3, 4] True 1",
        ),
        ("x = 1 # a comment with .join( and *=\nprint(x, 'a.join(b) *= 2')", "1 a.join(b) *= 2"),
        ("print('é'.join(['ü', 'x']) + 'ß' * 2, f'é{1}ü'.upper(), 'ä'.replace('ä', 'ö'))", "üéxßß É1Ü ö"),
        ("x = [\r\n  1, # ,\r\n]\r\nprint(','.join([str(i) for i in x]))\r\n", "1"),
        ("x = list( # two\n    (1, 2)\n)\nprint(x.index(2), len(x))", "1 2"),
        (
            "print((['a'] + ['b'])[1].upper(), (1, 2)[-1:], [1, 2, 3][::-1], 'abcd'[1:3:1], [1, 2][:])",
            "B (2,) [3, 2, 1] bc [1, 2]",
        ),
        (
            "print(isinstance([1], list[int]), isinstance('a', int | str), isinstance({}, (list, dict)), str(1.0), 1e10)",
            "True True False 1.0 1e+10",
        ),
        (
            "print({'a': 1} | {'b': 2}, 6 | 1, 6 & 3, 6 ^ 3, 5 - 3, ~1, set([1, 2]) - set([1]))",
            "{\"a\": 1, \"b\": 2} 7 2 5 2 -2 set([2])",
        ),
        ("x = {'a': 1}\nx |= {'b': 2}\ny = 6\ny |= 1\ny -= 2\nprint(x, y)", "{\"a\": 1, \"b\": 2} 5"),
        (
            "max = 3\nf = str\nprint(map(str, [1, 2]), max, f(2), type(f), sorted(['b', 'A'], key = lambda t: t.lower()))",
            "[\"1\", \"2\"] 3 2 function [\"A\", \"b\"]",
        ),
        (
            "def f(x):\n    if x == 1: return 'a'\n    elif x == 2: return 'b'\n    else:\n        y = '''c\nd'''; return y\nprint(f(1), f(2), f(3).splitlines())",
            "a b [\"c\", \"d\"]",
        ),
        (
            "print(r'a\\n', 'a\\tb\\x41', 0x1f, 1 if not [] else 2, (lambda x, *y, z = 3: (x, y, z))(1, 2))",
            "a\\n a\tbA 31 1 (1, (2,), 3)",
        ),
        ("x = 5 if 'a'.upper() == 'A' else 6\nprint(not x, -x * 2, +x)", "False -10 5"),
    ] {
        assert_eq!(printed(text), [expected], "{text}");
    }
}

#[test]
fn a_dict_counts_once_however_often_it_is_asked_for() {
    let text = "groups = {}\nfor i in range(50000):\n    groups.setdefault('k', {})[i] = i\n    x = max([1, 2])\n\
        print(len(groups['k']), len(getattr(struct(d = groups), 'd')))";
    assert_eq!(printed(text), ["50000 1"]);
    let error = refusal("s = set()\nfor i in range(2000000):\n    s.add(i)");
    assert!(error.contains("my.star:3: the script holds more than 64 MiB"), "{error}");
}

#[test]
fn what_cannot_be_followed_is_refused_with_what_to_write() {
    for (text, expected) in [
        ("f = ','.join\nx = f(['a'])", "join of a string has to be called where it stands"),
        ("f = getattr(',', 'join')", "join of a string has to be called where it stands"),
        ("def f():\n    return 0\nx = [1]\nx[f()] *= 2", "my.star:4: write this as an assignment"),
        ("_tracelens_times = 1", "names must not contain _tracelens_"),
    ] {
        let error = refusal(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn an_error_names_the_line_in_an_expression_of_several() {
    for (text, line) in [
        ("x = {\n    'a': 1,\n    'b': missing,\n}", 3),
        ("\n\nx = [\n    1,\n    # a comment\n    2 // 0,\n]", 6),
        ("def f(a): return a.missing\n\ny = 1; x = f(\n    y)", 1),
        ("if True: x = 1; y = [][0]", 1),
        ("for i in range(\n    2): pass\nelse_ = '''\n'''\nx = [][1]", 5),
        ("x = ['a'][0] \\\n    .join(\n        1)", 1),
        ("x = [1]\nx[\n  0\n] *= (\n  'a' // 1)", 5),
    ] {
        let error = refusal(text);
        assert!(error.starts_with(&format!("my.star:{line}: ")), "{text}: {error}");
    }
}
