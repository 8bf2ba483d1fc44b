//! The check that the files of a crate form no circle of use. A file uses another when its code names, by `use` or by a
//! path, what the other defines; a re-export in between does not count, neither as a use of its own nor as the definition.
//! Code of tests is not read.
//!
//! Ideas that are defined by each other may form a circle: a line of one of its files says why, and begins with
//! [`REASON`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::error::Error;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

use crate::{ChoreResult, Outcome};

/// How a comment begins that allows the circles through its file.
const REASON: &str = "// Circle: ";

/// Checks the crates of the workspace at `root` and prints what it found.
pub(crate) fn run(root: &Path) -> ChoreResult {
    let mut breaches = Vec::new();
    for folder in crates(root)? {
        let sources = folder.join("src");
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        for entry in
            ["lib.rs", "main.rs"].map(|name| sources.join(name)).iter().filter(|entry| entry.exists())
        {
            let found = Modules::read(entry)?.breaches(&sources);
            breaches.extend(found.iter().map(|breach| format!("crates/{name}/src: {breach}")));
        }
    }
    for breach in &breaches {
        eprintln!("layers: {breach}");
    }
    if breaches.is_empty() {
        println!("layers: no files form a circle but where a comment says why");
        return Ok(Outcome::Good);
    }
    eprintln!(
        "layers: to break a circle, move what both files need into a file that uses neither, or make one file of what \
         is one idea; where ideas are defined by each other, say why in one of the files: `{REASON}…`"
    );
    Ok(Outcome::Bad)
}

/// The folders of the crates, by name.
fn crates(root: &Path) -> Result<BTreeSet<PathBuf>, Box<dyn Error>> {
    let mut folders = BTreeSet::new();
    for entry in std::fs::read_dir(root.join("crates"))? {
        folders.insert(entry?.path());
    }
    Ok(folders)
}

/// Where a module is: names from the root of the crate on.
type Place = Vec<String>;

/// The modules of a crate, those of tests left out.
#[derive(Default)]
struct Modules {
    modules: BTreeMap<Place, Module>,
    /// Files with a reason for their circles.
    with_reason: BTreeSet<PathBuf>,
}

/// What the code of a module defines and names.
#[derive(Default)]
struct Module {
    file: PathBuf,
    /// What is defined here, modules aside.
    items: BTreeSet<String>,
    /// Names in calls of macros outside of functions: what such a macro defines is one of them.
    made: BTreeSet<String>,
    /// What names mean that `use` brings in, wherever it stands in the module.
    imports: BTreeMap<String, BTreeSet<Vec<String>>>,
    /// What `use path::*` brings in.
    globs: BTreeSet<Vec<String>>,
    /// What the code names: paths, single names and imports that are no re-exports.
    named: BTreeSet<Vec<String>>,
}

/// The files that each file uses, with the path by which it does.
type Arrows = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

impl Modules {
    /// Reads the crate whose root is a file.
    fn read(entry: &Path) -> Result<Self, Box<dyn Error>> {
        let mut modules = Self::default();
        modules.read_file(Vec::new(), entry, entry.parent().unwrap_or(entry))?;
        Ok(modules)
    }

    /// Reads the file of a module, whose children have theirs in `folder`.
    fn read_file(&mut self, place: Place, file: &Path, folder: &Path) -> Result<(), Box<dyn Error>> {
        let code = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        if code.lines().any(|line| line.trim_start().strip_prefix(REASON).is_some_and(|why| !why.is_empty()))
        {
            self.with_reason.insert(file.to_path_buf());
        }
        let tokens: TokenStream = code.parse().map_err(|error| format!("{}: {error}", file.display()))?;
        for (child, body) in self.add(place.clone(), file, tokens) {
            self.read_child(&place, child, body, file, folder)?;
        }
        Ok(())
    }

    /// Reads a module that is declared in a file, and whose body may stand there.
    fn read_child(
        &mut self,
        parent: &Place,
        name: String,
        body: Option<TokenStream>,
        file: &Path,
        folder: &Path,
    ) -> Result<(), Box<dyn Error>> {
        let below = folder.join(&name);
        let place: Place = parent.iter().cloned().chain([name]).collect();
        if let Some(body) = body {
            for (child, body) in self.add(place.clone(), file, body) {
                self.read_child(&place, child, body, file, &below)?;
            }
            return Ok(());
        }
        let alone = below.with_extension("rs");
        let child = if alone.exists() { alone } else { below.join("mod.rs") };
        self.read_file(place, &child, &below)
    }

    /// Adds a module, and returns its children.
    fn add(&mut self, place: Place, file: &Path, tokens: TokenStream) -> Vec<(String, Option<TokenStream>)> {
        let mut module = Module { file: file.to_path_buf(), ..Module::default() };
        let mut children = Vec::new();
        for item in items(tokens) {
            module.add_item(&item, &mut children);
        }
        self.modules.insert(place, module);
        children
    }

    fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (place, module) in &self.modules {
            for path in &module.named {
                for file in self.definitions(place, path, &mut BTreeSet::new()) {
                    if *file != *module.file {
                        let targets = arrows.entry(module.file.clone()).or_default();
                        targets.entry(file.to_path_buf()).or_insert_with(|| path.join("::"));
                    }
                }
            }
        }
        arrows
    }

    /// The files that define what a path of a module's code means: several, where a name means a type and a function;
    /// none, where it means a module or something outside of the crate. Being looked for are the `seen` names of modules.
    fn definitions<'a>(
        &'a self,
        place: &[String],
        path: &[String],
        seen: &mut BTreeSet<(Place, String)>,
    ) -> BTreeSet<&'a Path> {
        let Some((first, rest)) = path.split_first() else { return BTreeSet::new() };
        match first.as_str() {
            "crate" => return self.definitions(&[], rest, seen),
            "self" => return self.definitions(place, rest, seen),
            "super" => {
                let parent = place.split_last().map_or(place, |(_, parent)| parent);
                return self.definitions(parent, rest, seen);
            }
            _ => {}
        }
        let Some(module) = self.modules.get(place) else { return BTreeSet::new() };
        let child: Place = place.iter().chain([first]).cloned().collect();
        if !rest.is_empty() && self.modules.contains_key(&child) {
            return self.definitions(&child, rest, seen);
        }
        if module.items.contains(first) {
            return BTreeSet::from([module.file.as_path()]);
        }
        // `use std::fmt` does not say what `std` is.
        let asked = (place.to_vec(), first.clone());
        if !seen.insert(asked.clone()) {
            return BTreeSet::new();
        }
        let mut behind =
            |import: &Vec<String>, rest: &[String]| self.definitions(place, &[import, rest].concat(), seen);
        let mut found = BTreeSet::new();
        if let Some(imports) = module.imports.get(first) {
            found.extend(imports.iter().flat_map(|import| behind(import, rest)));
        } else if module.made.contains(first) {
            found.insert(module.file.as_path());
        } else {
            // Which names are variants of an enum is not known: `use Kind::*` uses the enum, and that is all.
            for glob in &module.globs {
                if behind(glob, &[]).is_empty() {
                    found.extend(behind(glob, path));
                }
            }
        }
        seen.remove(&asked);
        found
    }

    /// Circles without a reason, and reasons without a circle, in words; files are named from `sources` on.
    fn breaches(&self, sources: &Path) -> Vec<String> {
        let mut arrows = self.arrows();
        let short = |file: &Path| file.strip_prefix(sources).unwrap_or(file).display().to_string();
        let idle = self.with_reason.iter().filter(|file| circle(&arrows, file).is_none());
        let mut breaches: Vec<String> = idle
            .map(|file| format!("{}: no circle runs through this file; remove the comment", short(file)))
            .collect();
        arrows.retain(|file, targets| {
            targets.retain(|target, _| !self.with_reason.contains(target));
            !self.with_reason.contains(file)
        });
        for knot in knots(&arrows) {
            let circles = knot.iter().filter_map(|file| circle(&arrows, file));
            let Some(circle) = circles.min_by_key(Vec::len) else { continue };
            let next = circle.iter().cycle().skip(1);
            let steps: Vec<String> = circle
                .iter()
                .zip(next)
                .map(|(file, used)| {
                    format!("{} names {} of {}", short(file), arrows[*file][*used], short(used))
                })
                .collect();
            let more = match knot.len() - circle.len() {
                0 => String::new(),
                more => format!(" ({more} more files are in circles with these)"),
            };
            breaches.push(format!("a circle of {} files{more}: {}", circle.len(), steps.join(", ")));
        }
        breaches
    }
}

/// Files that use each other, directly or by way of others.
fn knots(arrows: &Arrows) -> Vec<BTreeSet<&Path>> {
    let reach: BTreeMap<&Path, BTreeSet<&Path>> =
        arrows.keys().map(|file| (file.as_path(), reachable(arrows, file))).collect();
    let mut knots: Vec<BTreeSet<&Path>> = Vec::new();
    for (file, reached) in &reach {
        if reached.contains(file) && !knots.iter().any(|knot| knot.contains(file)) {
            let back = |other: &&&Path| reach.get(**other).is_some_and(|reached| reached.contains(file));
            knots.push(reached.iter().filter(back).copied().collect());
        }
    }
    knots
}

/// The files that a file uses, directly or by way of others.
fn reachable<'a>(arrows: &'a Arrows, file: &Path) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Path> = vec![file];
    while let Some(targets) = open.pop().map(|file| arrows.get(file)) {
        let new = targets.into_iter().flat_map(BTreeMap::keys).map(PathBuf::as_path);
        open.extend(new.filter(|target| reached.insert(*target)).collect::<Vec<_>>());
    }
    reached
}

/// A shortest circle through a file, which comes first.
fn circle<'a>(arrows: &'a Arrows, file: &Path) -> Option<Vec<&'a Path>> {
    let (start, _) = arrows.get_key_value(file)?;
    let mut came_from: BTreeMap<&Path, &Path> = BTreeMap::new();
    let mut open: VecDeque<&Path> = VecDeque::from([start.as_path()]);
    while let Some(at) = open.pop_front() {
        for target in arrows.get(at).into_iter().flat_map(BTreeMap::keys) {
            if target == start {
                let back = std::iter::successors(Some(at), |at| came_from.get(at).copied());
                let mut circle: Vec<&Path> = back.collect();
                circle.reverse();
                return Some(circle);
            }
            if !came_from.contains_key(target.as_path()) {
                came_from.insert(target, at);
                open.push_back(target);
            }
        }
    }
    None
}

/// The items of a module, without their attributes and without those of tests.
fn items(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut items = Vec::new();
    let mut rest: &[TokenTree] = &tokens.into_iter().collect::<Vec<_>>();
    while !rest.is_empty() {
        let (is_test_only, behind) = attributes(rest);
        let (item, behind) = behind.split_at(length(behind, false));
        if !is_test_only {
            items.push(item.to_vec());
        }
        rest = behind;
    }
    items
}

/// Whether the attributes at the start of tokens say that what follows is for tests, and what follows.
fn attributes(mut tokens: &[TokenTree]) -> (bool, &[TokenTree]) {
    let mut is_test_only = false;
    loop {
        match tokens {
            [hash, TokenTree::Group(attribute), rest @ ..] if is_punct(hash, '#') => {
                is_test_only |= is_cfg_test(attribute.stream());
                tokens = rest;
            }
            [hash, bang, TokenTree::Group(_), rest @ ..] if is_punct(hash, '#') && is_punct(bang, '!') => {
                tokens = rest;
            }
            _ => return (is_test_only, tokens),
        }
    }
}

/// Whether an attribute is `cfg(test)` or `cfg(all(test, …))`.
pub(crate) fn is_cfg_test(attribute: TokenStream) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    let condition = text.strip_prefix("cfg(").and_then(|text| text.strip_suffix(')'));
    condition.is_some_and(|condition| condition == "test" || condition.starts_with("all(test,"))
}

/// How many tokens an item, or within other code a statement, a field or an arm, has.
pub(crate) fn length(tokens: &[TokenTree], within: bool) -> usize {
    let has_value = |(at, token): (usize, &TokenTree)| match token {
        TokenTree::Ident(word) if word == "const" || word == "static" => {
            !tokens.get(at + 1).is_some_and(|next| is_word(next, "fn") || is_word(next, "unsafe"))
        }
        TokenTree::Ident(word) => ["use", "let", "type"].iter().any(|keyword| word == keyword),
        _ => false,
    };
    // What comes before `pub(crate)` and the keyword does not matter.
    let ends_with_semicolon = tokens.iter().enumerate().take(3).any(has_value);
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !ends_with_semicolon,
        token => is_punct(token, ';') || within && is_punct(token, ','),
    };
    tokens.iter().position(ends).map_or(tokens.len(), |last| last + 1)
}

impl Module {
    fn add_item(&mut self, item: &[TokenTree], children: &mut Vec<(String, Option<TokenStream>)>) {
        let (is_public, item) = match item {
            [word, TokenTree::Group(scope), rest @ ..]
                if is_word(word, "pub") && scope.delimiter() == Delimiter::Parenthesis =>
            {
                (true, rest)
            }
            [word, rest @ ..] if is_word(word, "pub") => (true, rest),
            _ => (false, item),
        };
        match item {
            [TokenTree::Ident(word), rest @ ..] if word == "use" => return self.import(rest, is_public),
            [TokenTree::Ident(word), TokenTree::Ident(name), rest @ ..] if word == "mod" => {
                let body = match rest {
                    [TokenTree::Group(body)] => Some(body.stream()),
                    _ => None,
                };
                return children.push((name.to_string(), body));
            }
            [TokenTree::Ident(word), bang, TokenTree::Ident(name), ..]
                if word == "macro_rules" && is_punct(bang, '!') =>
            {
                self.items.insert(name.to_string());
            }
            [TokenTree::Ident(_), bang, .., TokenTree::Group(body)]
            | [TokenTree::Ident(_), bang, .., TokenTree::Group(body), _]
                if is_punct(bang, '!') =>
            {
                words(body.stream(), &mut self.made);
            }
            _ => self.items.extend(defined(item).map(ToString::to_string)),
        }
        self.code(item);
    }

    /// Reads what code names.
    fn code(&mut self, mut tokens: &[TokenTree]) {
        let mut before: [Option<&TokenTree>; 2] = [None, None];
        while let Some((token, rest)) = tokens.split_first() {
            let (is_test_only, behind) = attributes(tokens);
            if is_test_only {
                tokens = &behind[length(behind, true)..];
                continue;
            }
            tokens = rest;
            match token {
                TokenTree::Group(group) => self.code(&group.stream().into_iter().collect::<Vec<_>>()),
                TokenTree::Ident(word)
                    if word == "use" && !rest.first().is_some_and(|next| is_punct(next, '<')) =>
                {
                    let (import, behind) = rest.split_at(length(rest, false));
                    self.import(import, false);
                    tokens = behind;
                }
                TokenTree::Ident(word) => {
                    let (path, behind) = path(word, rest);
                    let is_field = is_single_colon(behind) && path.len() == 1;
                    if !is_field && begins_path(before) {
                        self.named.insert(path);
                    }
                    tokens = behind;
                }
                _ => {}
            }
            before = [before[1], Some(token)];
        }
    }

    /// Takes in the tokens of a `use` behind the word.
    fn import(&mut self, tokens: &[TokenTree], is_public: bool) {
        let mut found = Vec::new();
        imports(tokens, &[], &mut found);
        for (path, name) in found {
            if !is_public {
                self.named.insert(path.clone());
            }
            match name {
                Some(name) => drop(self.imports.entry(name).or_default().insert(path)),
                None => drop(self.globs.insert(path)),
            }
        }
    }
}

/// The name that an item defines, if it has one.
fn defined(item: &[TokenTree]) -> Option<&Ident> {
    const KEYWORDS: &[&str] = &["fn", "struct", "enum", "union", "trait", "type", "const", "static"];
    let mut words = item.iter();
    loop {
        match words.next()? {
            TokenTree::Ident(word) if word == "impl" => return None,
            TokenTree::Ident(word) if KEYWORDS.iter().any(|keyword| word == keyword) => break,
            _ => {}
        }
    }
    words.find_map(|token| match token {
        TokenTree::Ident(word)
            if !["fn", "unsafe", "extern", "mut"].iter().any(|modifier| word == modifier) =>
        {
            Some(word)
        }
        _ => None,
    })
}

/// Takes the paths of a tree of `use` apart, each with the name that it has from then on; a path without one brings in
/// all that is there.
fn imports(tokens: &[TokenTree], prefix: &[String], found: &mut Vec<(Vec<String>, Option<String>)>) {
    let mut path = prefix.to_vec();
    let mut name = None;
    let mut is_whole = false;
    let mut tokens = tokens.iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "as" => name = tokens.next().map(ToString::to_string),
            TokenTree::Ident(word) if word == "self" && !path.is_empty() => is_whole = true,
            TokenTree::Ident(word) => path.push(word.to_string()),
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                return inner
                    .split(|token| is_punct(token, ','))
                    .for_each(|tree| imports(tree, &path, found));
            }
            token if is_punct(token, '*') => return found.push((path, None)),
            _ => {}
        }
    }
    // Behind the last comma of a list there is nothing.
    if path.len() > prefix.len() || is_whole {
        let name = name.or_else(|| path.last().cloned());
        found.push((path, name));
    }
}

/// The path that begins with a word, and the tokens behind it.
fn path<'t>(first: &Ident, mut rest: &'t [TokenTree]) -> (Vec<String>, &'t [TokenTree]) {
    let mut path = vec![first.to_string()];
    while let [a, b, TokenTree::Ident(word), behind @ ..] = rest
        && is_punct(a, ':')
        && is_punct(b, ':')
    {
        path.push(word.to_string());
        rest = behind;
    }
    (path, rest)
}

/// Whether a word behind two tokens is neither a member, nor a lifetime, nor the rest of a path.
fn begins_path(before: [Option<&TokenTree>; 2]) -> bool {
    let is = |at: usize, sign| before[at].is_some_and(|token: &TokenTree| is_punct(token, sign));
    let is_member = is(1, '.') && !is(0, '.');
    let is_rest = is(1, ':') && is(0, ':');
    !(is_member || is_rest || is(1, '\''))
}

fn is_single_colon(tokens: &[TokenTree]) -> bool {
    match tokens {
        [first, second, ..] => is_punct(first, ':') && !is_punct(second, ':'),
        _ => false,
    }
}

pub(crate) fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn is_word(token: &TokenTree, text: &str) -> bool {
    matches!(token, TokenTree::Ident(word) if word == text)
}

/// All words of tokens.
fn words(tokens: TokenStream, found: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(word) => drop(found.insert(word.to_string())),
            TokenTree::Group(group) => words(group.stream(), found),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the check says of a crate of some files.
    fn breaches(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, code) in files {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, code).unwrap();
        }
        Modules::read(&folder.path().join("lib.rs")).unwrap().breaches(folder.path())
    }

    #[test]
    fn a_circle_is_told_with_the_names_that_make_it() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::{b::{self, B}, c::C};\npub(crate) struct A(B, C);"),
            ("b.rs", "pub(crate) struct B;\nfn f() { let it = super::c::make(); }"),
            ("c.rs", "pub(crate) struct C;\npub(crate) fn make() -> Option<crate::a::A> { None }"),
        ];
        assert_eq!(
            breaches(&files),
            ["a circle of 2 files (1 more files are in circles with these): \
              a.rs names C of c.rs, c.rs names crate::a::A of a.rs"]
        );
    }

    #[test]
    fn modules_in_folders_of_their_own_and_within_a_file_are_found() {
        let files = [
            ("lib.rs", "mod a; mod b { pub(crate) mod c; pub(crate) fn g() { crate::a::f() } }"),
            ("a/mod.rs", "mod d;\npub(crate) fn f() { d::h() }"),
            ("a/d.rs", "pub(super) fn h() { super::super::b::c::i(); }"),
            ("b/c.rs", "pub(crate) fn i() { super::g() }"),
        ];
        let [breach] = &breaches(&files)[..] else { panic!("{:?}", breaches(&files)) };
        assert!(breach.starts_with("a circle of 4 files: a/d.rs names super::super::b::c::i of b/c.rs, "));
    }

    #[test]
    fn declarations_and_re_exports_are_no_use() {
        let files = [
            ("lib.rs", "mod a;\npub use a::A;\npub use a::*;\npub struct Shared;"),
            ("a.rs", "use super::Shared;\npub struct A(Shared);\npub(crate) fn f() {}"),
        ];
        assert_eq!(breaches(&files), Vec::<String>::new());
    }

    #[test]
    fn what_a_re_export_names_belongs_to_the_file_that_defines_it() {
        let files = [
            ("lib.rs", "mod a; mod b;\npub use a::A;\npub use b::*;"),
            ("a.rs", "use crate::B;\npub struct A(B);"),
            ("b.rs", "pub struct B(Option<Box<super::A>>);"),
        ];
        assert_eq!(
            breaches(&files),
            ["a circle of 2 files: a.rs names B of b.rs, b.rs names super::A of a.rs"]
        );
    }

    #[test]
    fn a_file_that_names_what_it_re_exports_uses_it() {
        let lib = "mod a;\npub use a::A;\npub struct Shared;\nfn f(a: A) {}";
        let files = [("lib.rs", lib), ("a.rs", "use super::*;\npub struct A(Shared);")];
        assert_eq!(
            breaches(&files),
            ["a circle of 2 files: a.rs names Shared of lib.rs, lib.rs names A of a.rs"]
        );
    }

    #[test]
    fn members_fields_and_what_stands_outside_of_the_crate_are_no_use() {
        let lib = "mod a;\npub use a::{run, text};\nuse std::fmt::*;\n\
                   pub struct S { text: u8 }\nfn f(s: S) { s.run(serde::a::text); }";
        let files = [("lib.rs", lib), ("a.rs", "use crate::S;\npub fn run(_: S) {}\npub fn text() {}")];
        assert_eq!(breaches(&files), Vec::<String>::new());
    }

    #[test]
    fn what_macros_define_is_found() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "macro_rules! make { ($name:ident) => { pub struct $name; } }\nmake!(A);\nuse super::b::B;",
            ),
            ("b.rs", "pub struct B;\nuse crate::a::A;"),
        ];
        assert_eq!(
            breaches(&files),
            ["a circle of 2 files: a.rs names super::b::B of b.rs, b.rs names crate::a::A of a.rs"]
        );
    }

    #[test]
    fn tests_are_not_read() {
        let a = "pub struct A;\n#[cfg(test)]\nuse super::b::B;\n#[cfg(test)]\nmod tests { use super::super::b::B; }\n\
                 impl A { #[cfg(test)] const B: B = crate::b::B { x: 1 };\n}\n#[cfg(test)]\nmod fixture;";
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", a),
            ("b.rs", "use crate::a::A;\npub struct B { x: A }"),
            ("a/fixture.rs", "use crate::b::B;"),
        ];
        assert_eq!(breaches(&files), Vec::<String>::new());
    }

    #[test]
    fn a_reason_allows_the_circles_through_its_file_and_no_other() {
        let a = "// Circle: trees have branches, and branches are trees.\nuse super::b::B;\npub struct A;";
        let b = "use super::a::A;\npub struct B;";
        let lib = "mod a; mod b; mod c;";
        assert_eq!(
            breaches(&[("lib.rs", lib), ("a.rs", a), ("b.rs", b), ("c.rs", "")]),
            Vec::<String>::new()
        );
        let (b, c) = (format!("{b}\nuse super::c::C;"), "use super::b::B;\npub struct C;");
        assert_eq!(
            breaches(&[("lib.rs", lib), ("a.rs", a), ("b.rs", &b), ("c.rs", c)]),
            ["a circle of 2 files: b.rs names super::c::C of c.rs, c.rs names super::b::B of b.rs"]
        );
    }

    #[test]
    fn a_reason_without_a_circle_is_told() {
        let files = [("lib.rs", "mod a;"), ("a.rs", "// Circle: there was one.\nstruct A;")];
        assert_eq!(breaches(&files), ["a.rs: no circle runs through this file; remove the comment"]);
    }
}
