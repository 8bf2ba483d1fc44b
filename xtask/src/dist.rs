//! The archive of a release: the program with its manual pages, completions, licences and list of components. And the wheel
//! of the Python package, with its licences.
//!
//! The same source gives the same bytes, whoever builds it and wherever: no path of the machine is in the program, and
//! entries of the archive stand in order, with the time of the commit.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io::{Cursor, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

use crate::docs::{printed, subcommands};
use crate::{ChoreResult, Outcome, package_value, packages};

/// What is built, and where it goes.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Target to build for; the machine must be able to run its programs [default: that of the toolchain]
    #[arg(long)]
    target: Option<String>,
    /// Directory of the archive
    #[arg(long, default_value = "target/dist")]
    out: PathBuf,
    /// Build the wheel of the Python package instead, with maturin
    #[arg(long)]
    wheel: bool,
    /// Leave out THIRD-PARTY.md and the list of components, which cargo-about and cargo-cyclonedx make
    #[arg(long)]
    without_licences: bool,
}

/// What is built for a release stands here, apart from what is built otherwise.
const BUILD: &str = "target/dist-build";

/// What `packaging/Containerfile` takes from an archive for musl, and how many bytes it may have.
const IMAGE_FILES: [&str; 4] = ["tracelens", "LICENSE", "THIRD-PARTY.md", "components.cdx.json"];
const IMAGE_BYTES: usize = 40_000_000;

/// Shells with a completion script, and what it is called.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "tracelens.bash"),
    ("elvish", "tracelens.elv"),
    ("fish", "tracelens.fish"),
    ("powershell", "_tracelens.ps1"),
    ("zsh", "_tracelens"),
];

pub(crate) fn run(arguments: &Arguments, root: &Path) -> ChoreResult {
    let target = arguments.target.clone().map_or_else(host, Ok)?;
    let (version, time) = (package_value(root, "version")?, commit_time(root)?);
    let prefixes = Prefixes::of(root)?;
    let out = root.join(&arguments.out);
    std::fs::create_dir_all(&out)?;
    if arguments.wheel {
        return wheel(arguments, root, &target, time, &prefixes);
    }
    let program = build(root, &target, time, &prefixes)?;
    let content = std::fs::read(&program)?;
    if prefixes.are_in(&program, &content) {
        return Ok(Outcome::Bad);
    }
    let is_windows = target.contains("windows");
    let mut files = BTreeMap::from([(format!("tracelens{}", if is_windows { ".exe" } else { "" }), content)]);
    for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
        files.insert(file.to_owned(), std::fs::read(root.join(file))?);
    }
    add_generated_files(&program, &mut files)?;
    if !arguments.without_licences {
        licences(root, &target, &mut files)?;
    }
    let image = image_bytes(&files);
    if target.ends_with("musl") && image > IMAGE_BYTES {
        println!(
            "the container's image would have {image} bytes, more than {IMAGE_BYTES}; see that the program is stripped,"
        );
        println!("or build more packages for size ([profile.dist.package] in Cargo.toml)");
        return Ok(Outcome::Bad);
    }
    let name = format!("tracelens-{version}-{target}");
    let (archive, ending) = match is_windows {
        true => (zip(&name, &files)?, "zip"),
        false => (tar_gz(&name, &files, time)?, "tar.gz"),
    };
    let file = format!("{name}.{ending}");
    let hash = hex(&archive);
    std::fs::write(out.join(format!("{file}.sha256")), format!("{hash}  {file}\n"))?;
    std::fs::write(out.join(&file), &archive)?;
    println!("{} {} bytes, {} files", out.join(&file).display(), archive.len(), files.len());
    println!("sha256 {hash}");
    Ok(Outcome::Good)
}

/// Builds the wheel, which has the licences of what is in it and a list of components, which maturin makes.
fn wheel(arguments: &Arguments, root: &Path, target: &str, time: u64, prefixes: &Prefixes) -> ChoreResult {
    const MANIFEST: &str = "crates/python/Cargo.toml";
    let made = root.join(BUILD).join("wheel");
    if made.exists() {
        std::fs::remove_dir_all(&made)?;
    }
    let mut licences = BTreeMap::from([("LICENSE", std::fs::read(root.join("LICENSE"))?)]);
    if !arguments.without_licences {
        licences.insert("THIRD-PARTY.md", third_party(root, target, MANIFEST)?);
    }
    let mut maturin = Command::new("maturin");
    maturin.args(["build", "--profile", "dist", "--locked", "--target", target, "--manifest-path", MANIFEST]);
    maturin.arg("--out").arg(&made);
    same_everywhere(&mut maturin, root, target, time, prefixes)?;
    // They belong beside the manifest, where the package finds them, and only for as long as it is built.
    let beside = |file: &str| root.join(MANIFEST).with_file_name(file);
    for (file, text) in &licences {
        std::fs::write(beside(file), text)?;
    }
    let status = maturin.status();
    for file in licences.keys() {
        std::fs::remove_file(beside(file))?;
    }
    let status = status
        .map_err(|error| format!("could not start maturin: {error}; `pip install maturin` installs it"))?;
    if !status.success() {
        return Err("the wheel does not build".into());
    }
    let mut built = std::fs::read_dir(&made)?;
    let file = built.next().ok_or("maturin made no wheel")??.path();
    let content = std::fs::read(&file)?;
    let entries = unzipped(&content)?;
    let is_library =
        |name: &str| Path::new(name).extension().is_some_and(|ending| ending == "so" || ending == "pyd");
    let libraries = entries.iter().filter(|(name, _)| is_library(name));
    if libraries.filter(|(name, library)| prefixes.are_in(Path::new(name), library)).count() > 0 {
        return Ok(Outcome::Bad);
    }
    let has = |file: &str| entries.keys().any(|name| name.ends_with(file));
    if let Some(missing) = licences.keys().find(|file| !has(file)) {
        return Err(format!("{} has no {missing}", file.display()).into());
    }
    let to = root.join(&arguments.out).join(file.file_name().unwrap_or_default());
    std::fs::write(&to, &content)?;
    println!("{} {} bytes, {} files", to.display(), content.len(), entries.len());
    println!("sha256 {}", hex(&content));
    Ok(Outcome::Good)
}

/// What a command prints, without the space around it.
fn output(command: &mut Command) -> Result<String, Box<dyn Error>> {
    let output = command.output().map_err(|error| format!("could not start {command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?.trim().to_owned()),
        false => {
            Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim()).into())
        }
    }
}

/// The target of the toolchain.
fn host() -> Result<String, Box<dyn Error>> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not say its host")?.to_owned())
}

/// Seconds since 1970 of the commit that is built, or what `SOURCE_DATE_EPOCH` says.
fn commit_time(root: &Path) -> Result<u64, Box<dyn Error>> {
    if let Ok(time) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(time.parse()?);
    }
    Ok(output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?.parse()?)
}

/// Folders of this machine that compilers write into programs, with what stands there instead.
struct Prefixes(Vec<(String, &'static str)>);

impl Prefixes {
    fn of(root: &Path) -> Result<Self, Box<dyn Error>> {
        let home = std::env::var("CARGO_HOME").or_else(|_| -> Result<String, std::env::VarError> {
            let home = std::env::var("HOME").or_else(|_| std::env::var("USERPROFILE"))?;
            Ok(Path::new(&home).join(".cargo").to_string_lossy().into_owned())
        })?;
        let toolchain = output(Command::new("rustc").args(["--print", "sysroot"]))?;
        // Of several that fit, rustc takes the last.
        let folders =
            [(root.to_string_lossy().into_owned(), "/tracelens"), (toolchain, "/rust"), (home, "/cargo")];
        Ok(Prefixes(folders.to_vec()))
    }

    /// Whether one of them is in a program, of which the first are printed.
    fn are_in(&self, path: &Path, program: &[u8]) -> bool {
        let found = self.found_in(program);
        if !found.is_empty() {
            println!("paths of this machine in {}:", path.display());
            found.iter().for_each(|text| println!("  {text}"));
        }
        !found.is_empty()
    }

    /// Texts of a program with one of them.
    fn found_in(&self, program: &[u8]) -> Vec<String> {
        const SHOWN: usize = 5;
        let mut found = Vec::new();
        for (prefix, _) in &self.0 {
            let places = program.windows(prefix.len()).enumerate();
            for (at, _) in places.filter(|(_, window)| *window == prefix.as_bytes()).take(SHOWN) {
                let text: Vec<u8> = program[at..]
                    .iter()
                    .copied()
                    .take(120)
                    .take_while(|byte| (32..127).contains(byte))
                    .collect();
                found.push(String::from_utf8_lossy(&text).into_owned());
            }
        }
        found
    }
}

/// Has cargo, or what runs it, build without what differs between machines.
fn same_everywhere(
    command: &mut Command,
    root: &Path,
    target: &str,
    time: u64,
    prefixes: &Prefixes,
) -> Result<(), Box<dyn Error>> {
    let (mut rust_flags, mut c_flags) = (String::new(), String::new());
    for (folder, instead) in &prefixes.0 {
        write!(rust_flags, "\u{1f}--remap-path-prefix={folder}={instead}")?;
        write!(c_flags, " -ffile-prefix-map={folder}={instead}")?;
    }
    command
        .current_dir(root)
        .env("CARGO_TARGET_DIR", root.join(BUILD))
        .env("CARGO_ENCODED_RUSTFLAGS", rust_flags.trim_start_matches('\u{1f}'))
        .env("CARGO_INCREMENTAL", "0")
        .env("SOURCE_DATE_EPOCH", time.to_string());
    // Sources of an archive have no history; what was changed since the commit is told.
    let describe = ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"];
    if let Ok(commit) = output(Command::new("git").args(describe).current_dir(root)) {
        command.env("TRACELENS_COMMIT", commit);
    }
    if !target.contains("msvc") {
        command.env("CFLAGS", c_flags.trim_start());
    }
    Ok(())
}

/// Builds the program.
fn build(root: &Path, target: &str, time: u64, prefixes: &Prefixes) -> Result<PathBuf, Box<dyn Error>> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--profile", "dist", "--locked", "--package", "tracelens", "--target", target]);
    same_everywhere(&mut cargo, root, target, time, prefixes)?;
    if !cargo.status()?.success() {
        return Err(format!("the program does not build for {target}").into());
    }
    let name = if target.contains("windows") { "tracelens.exe" } else { "tracelens" };
    Ok(root.join(BUILD).join(target).join("dist").join(name))
}

/// Manual pages, completions and the skill for agents, which the program prints.
fn add_generated_files(program: &Path, files: &mut BTreeMap<String, Vec<u8>>) -> Result<(), Box<dyn Error>> {
    let mut add = |file: String, arguments: &[&str]| {
        printed(program, arguments).map(|text| files.insert(file, text.into_bytes())).map(drop)
    };
    add("man/tracelens.1".to_owned(), &["man"])?;
    for command in subcommands(program)? {
        add(format!("man/tracelens-{}.1", command.replace(' ', "-")), &["man", &command])?;
    }
    for (shell, file) in COMPLETIONS {
        add(format!("completions/{file}"), &["completions", shell])?;
    }
    add("COLUMNS.md".to_owned(), &["info", "columns", "--markdown"])?;
    add("SKILL.md".to_owned(), &["info", "skill"])
}

/// The outcome of a tool, with how to get it where it is not there.
fn with_advice(outcome: Result<String, Box<dyn Error>>) -> Result<String, Box<dyn Error>> {
    outcome.map_err(|error| {
        format!(
            "{error}; `cargo install --locked cargo-about --features cli` and `cargo install --locked cargo-cyclonedx` install what \
             makes the lists, and --without-licences does without"
        )
        .into()
    })
}

/// The licences of all dependencies of a package.
fn third_party(root: &Path, target: &str, manifest: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut command = Command::new("cargo");
    command.args(["about", "generate", "--locked", "--fail", "--target", target, "packaging/about.hbs"]);
    command.args(["--config", "packaging/about.toml", "--manifest-path", manifest]);
    Ok(with_advice(output(command.current_dir(root)))?.into_bytes())
}

/// The licences of all dependencies of the program, and the list of components in the form of CycloneDX.
fn licences(root: &Path, target: &str, files: &mut BTreeMap<String, Vec<u8>>) -> Result<(), Box<dyn Error>> {
    files.insert("THIRD-PARTY.md".to_owned(), third_party(root, target, "crates/cli/Cargo.toml")?);
    let mut command = Command::new("cargo");
    command.args(["cyclonedx", "--format", "json", "--spec-version", "1.5"]);
    command.args(["--override-filename", "tracelens-components"]);
    command.args(["--target", target, "--manifest-path", "crates/cli/Cargo.toml"]);
    with_advice(output(command.current_dir(root)))?;
    let list = root.join("crates/cli/tracelens-components.json");
    files.insert("components.cdx.json".to_owned(), std::fs::read(&list)?);
    // The tool writes one beside every manifest of the workspace.
    for package in packages(root)? {
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let list = Path::new(manifest).with_file_name("tracelens-components.json");
        if list.exists() {
            std::fs::remove_file(list)?;
        }
    }
    Ok(())
}

fn image_bytes(files: &BTreeMap<String, Vec<u8>>) -> usize {
    IMAGE_FILES.iter().filter_map(|&file| files.get(file)).map(Vec::len).sum()
}

/// Mode of an entry: the program runs.
fn mode(file: &str) -> u32 {
    if file.starts_with("tracelens") { 0o755 } else { 0o644 }
}

fn tar_gz(name: &str, files: &BTreeMap<String, Vec<u8>>, time: u64) -> Result<Vec<u8>, Box<dyn Error>> {
    let gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let mut archive = tar::Builder::new(gzip);
    for (file, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(mode(file));
        header.set_mtime(time);
        archive.append_data(&mut header, format!("{name}/{file}"), content.as_slice())?;
    }
    Ok(archive.into_inner()?.finish()?)
}

fn zip(name: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (file, content) in files {
        // Without a time, entries are of 1980.
        let options = zip::write::SimpleFileOptions::DEFAULT.unix_permissions(mode(file));
        archive.start_file(format!("{name}/{file}"), options)?;
        archive.write_all(content)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// The files of an archive.
fn unzipped(archive: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, Box<dyn Error>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(archive))?;
    let mut files = BTreeMap::new();
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at)?;
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        files.insert(entry.name()?.into_owned(), content);
    }
    Ok(files)
}

fn hex(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> BTreeMap<String, Vec<u8>> {
        BTreeMap::from([
            ("tracelens".to_owned(), vec![1; 600]),
            ("man/tracelens.1".to_owned(), b"text".to_vec()),
        ])
    }

    #[test]
    fn an_image_has_what_its_recipe_takes_from_the_archive() {
        let recipe = include_str!("../../packaging/Containerfile");
        let taken: Vec<&str> =
            recipe.split_whitespace().filter_map(|word| word.strip_prefix("/archive/")).collect();
        assert_eq!(taken, IMAGE_FILES);
        assert_eq!(image_bytes(&files()), 600);
    }

    #[test]
    fn archives_are_the_same_each_time_and_hold_everything() {
        let archive = tar_gz("t-1", &files(), 1_700_000_000).unwrap();
        assert_eq!(archive, tar_gz("t-1", &files(), 1_700_000_000).unwrap());
        let mut entries = tar::Archive::new(flate2::read::GzDecoder::new(archive.as_slice()));
        let mut found = Vec::new();
        for entry in entries.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            let header = entry.header();
            found.push((
                entry.path().unwrap().display().to_string(),
                header.mode().unwrap(),
                header.mtime().unwrap(),
                content.len(),
            ));
        }
        let expected =
            [("t-1/man/tracelens.1", 0o644, 1_700_000_000, 4), ("t-1/tracelens", 0o755, 1_700_000_000, 600)];
        assert_eq!(found, expected.map(|(path, mode, time, length)| (path.to_owned(), mode, time, length)));
        let zipped = zip("t-1", &files()).unwrap();
        assert_eq!(zipped, zip("t-1", &files()).unwrap());
        let found = unzipped(&zipped).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["t-1/man/tracelens.1", "t-1/tracelens"]);
        assert_eq!(found["t-1/tracelens"], [1; 600]);
    }

    #[test]
    fn paths_of_the_machine_are_found() {
        let prefixes = Prefixes(vec![("/home/me".to_owned(), "/tracelens")]);
        assert_eq!(prefixes.found_in(b"\0/home/me/a.rs\0/tracelens/b.rs"), ["/home/me/a.rs"]);
    }

    #[test]
    fn the_hash_is_that_of_sha256sum() {
        assert_eq!(hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
