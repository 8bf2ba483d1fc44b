//! The HTML page of reports in a real browser, offline. Skipped where Chromium is not installed.

mod browser;

use std::path::{Path, PathBuf};
use std::process::Command;

use browser::{Browser, say_skipped};
use serde_json::{Value, json};

/// Runs the program in a folder; it must succeed.
fn run(folder: &Path, arguments: &[&str]) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_tracelens")).current_dir(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// Presses a key in an element.
fn press(browser: &mut Browser, element: &str, key: &str) {
    browser.evaluate(&format!(
        "{{ const at = document.querySelector('{element}'); at.focus(); \
         at.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }})); }}"
    ));
}

/// The page of the generated trace of a training job.
fn page_of_training(folder: &Path) -> PathBuf {
    let trace = testdata("generated/cuda_training_step.json.gz");
    run(folder, &["report", trace.to_str().unwrap(), "--html", "page.html", "--quiet"]);
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1, "a page is the only output where one is named");
    folder.join("page.html")
}

/// Unfolds a part of the page and scrolls to it.
fn unfold(browser: &mut Browser, part: &str) {
    browser.evaluate(&format!(
        "{{ const part = document.getElementById('{part}'); part.open = true; part.scrollIntoView({{ behavior: 'instant' }}); }}"
    ));
}

/// Shows the tables, which are drawn when they come into view.
fn show_tables(browser: &mut Browser) {
    unfold(browser, "tables");
    browser.wait_for("document.querySelector('#tables tbody tr.pick') !== null");
}

/// The texts of a column of the table that is shown, from the top.
fn column(browser: &mut Browser, place: usize) -> Vec<String> {
    let cells = format!(
        "[...document.querySelectorAll('#tables tbody tr.pick')].map((row) => row.children[{place}].textContent)"
    );
    serde_json::from_value(browser.evaluate(&cells)).unwrap()
}

/// The least contrast of a text in a page to what is behind it (WCAG 2.2, success criterion 1.4.3).
const LEAST_CONTRAST: &str = r"{
    const numbers = (color) => color.match(/[\d.]+/g).map(Number);
    const light = (color) => {
        const [r, g, b] = numbers(color).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (node) => {
        for (let at = node; at; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if (numbers(color)[3] !== 0) return light(color);
        }
        return 1;
    };
    const texts = [...document.querySelectorAll('main *')].filter((node) =>
        !node.closest('svg') && !node.closest('[hidden]') && [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()));
    Math.min(...texts.map((node) => {
        const [a, b] = [light(getComputedStyle(node).color), behind(node)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    }));
}";

/// Entries of the navigation bar that a pointer does not reach where they are shown.
const HIDDEN_ENTRIES: &str = r"{
    window.scrollTo({ top: 0, behavior: 'instant' });
    [...document.querySelectorAll('nav.sections a, nav.sections button')].filter((entry) => {
        const { left, right, top, bottom } = entry.getBoundingClientRect();
        const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
        return left < 0 || right > innerWidth || at !== entry;
    }).map((entry) => entry.textContent);
}";

#[test]
fn a_page_asks_nobody_and_fits_every_width_light_and_dark() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = page_of_training(folder.path());
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    std::fs::create_dir_all(&pictures).unwrap();
    for width in [400, 900, 1440] {
        for theme in ["light", "dark"] {
            browser.open(&page, width, theme);
            for part in ["time", "tree", "timeline", "roofline", "tables", "made"] {
                assert_eq!(
                    browser.evaluate(&format!("document.getElementById('{part}') !== null")),
                    true,
                    "{part}"
                );
            }
            show_tables(&mut browser);
            assert_eq!(browser.faults(), Vec::<String>::new(), "{width} {theme}");
            assert_eq!(browser.requests(), 1, "the file itself");
            let overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
            assert_eq!(browser.evaluate(overflow), 0, "{width}: the page scrolls sideways");
            assert_eq!(
                browser.evaluate(HIDDEN_ENTRIES),
                json!([]),
                "{width}: entries of the bar out of reach"
            );
            assert_eq!(browser.evaluate("document.documentElement.dataset.theme"), theme);
            let canvas = "document.querySelector('#timeline canvas').getContext('2d').getImageData(1, 1, 1, 1).data[0]";
            assert_eq!(
                browser.evaluate(canvas).as_u64() < Some(128),
                theme == "dark",
                "the canvas has the theme"
            );
            let contrast = browser.evaluate(LEAST_CONTRAST);
            assert!(contrast.as_f64() >= Some(4.5), "{theme}: text with contrast {contrast}");
            browser.screenshot(&pictures.join(format!("training-{width}-{theme}.png")));
        }
    }
}

#[test]
fn bars_add_up_to_the_time_that_the_report_has() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = page_of_training(folder.path());
    browser.open(&page, 1200, "light");
    let sums = "[...document.querySelectorAll('#time figure > svg g')].map((bar) => [Number(bar.dataset.total), \
                [...bar.querySelectorAll('rect')].reduce((sum, part) => sum + Number(part.dataset.ns), 0)])";
    let whole = browser.evaluate(sums);
    let total = whole[0][0].as_i64().unwrap();
    assert_eq!(whole, json!([[total, total]]));
    // The second group is the steps.
    browser.evaluate("document.querySelectorAll('#time header button')[1].click()");
    let steps = browser.evaluate(sums);
    let steps = steps.as_array().unwrap();
    assert!(steps.len() > 3, "{steps:?}");
    assert!(steps.iter().all(|bar| bar[0] == bar[1]), "{steps:?}");
    assert_eq!(steps.iter().map(|bar| bar[0].as_i64().unwrap()).sum::<i64>(), total);
    let shown = browser.evaluate("document.querySelector('.figures .value').textContent");
    assert_eq!(shown, format!("{:.2} ms", total as f64 / 1e6));
}

#[test]
fn tables_are_sorted_filtered_and_kept_in_the_address() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = page_of_training(folder.path());
    browser.open(&page, 1200, "light");
    show_tables(&mut browser);
    assert_eq!(browser.evaluate("document.querySelector('#tables h3').textContent"), "ops_summary");
    let header = "document.querySelectorAll('#tables thead button')[0]";
    let sort = format!("{header}.parentNode.getAttribute('aria-sort')");
    browser.evaluate(&format!("{header}.click()"));
    assert_eq!(browser.evaluate(&sort), "ascending");
    let names = column(&mut browser, 0);
    assert!(names.len() > 10 && names.is_sorted_by_key(|name| name.to_lowercase()), "{names:?}");
    browser.evaluate(&format!("{header}.click()"));
    assert_eq!(browser.evaluate(&sort), "descending");
    assert_eq!(column(&mut browser, 0).first(), names.last());
    let filter = |browser: &mut Browser, text: &str| {
        let text = Value::from(text);
        browser.evaluate(&format!(
            "{{ const field = document.querySelector('#tables input[type=search]'); field.value = {text}; \
             field.dispatchEvent(new Event('input')); }}"
        ));
        column(browser, 0)
    };
    let all = names.len();
    let found = filter(&mut browser, "MM");
    assert!(!found.is_empty() && found.len() < all, "{found:?}");
    let has = |name: &str| found.iter().any(|found| found == name);
    assert!(has("aten::mm") && has("aten::addmm") && !has("aten::gelu"), "{found:?}");
    let found = filter(&mut browser, "/^aten::(add)?mm$/");
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(filter(&mut browser, "/(/").len(), 0, "what is no pattern finds nothing and says so");
    assert_eq!(
        browser.evaluate("document.querySelector('#tables [role=status]').textContent"),
        "Not a valid regular expression."
    );
    filter(&mut browser, "aten::mm");
    let address = browser.evaluate("location.hash");
    assert!(address.as_str().unwrap().contains("filter=aten%3A%3Amm"), "{address}");
    browser.evaluate("document.querySelector('#tables tbody tr.pick').click()");
    let details = browser.evaluate("document.querySelector('#tables .details').textContent");
    assert!(details.as_str().unwrap().contains("aten::mm"), "{details}");
    // What the rooflines chose limits the tables.
    filter(&mut browser, "");
    let total = "document.querySelector('#tables tfoot td:nth-child(2)').textContent";
    assert_eq!(browser.evaluate(total), "92.317", "the sum of the column");
    unfold(&mut browser, "roofline");
    browser.evaluate("document.querySelector('#roofline .pointer').dispatchEvent(new MouseEvent('click'))");
    browser
        .wait_for("/no operator selected/.test(document.querySelector('#tables [role=status]').textContent)");
    browser.evaluate(
        "[...document.querySelectorAll('.contents button')].find((to) => /roofline_points/.test(to.textContent)).click()",
    );
    browser.wait_for(
        "/of .* rows, only operators/.test(document.querySelector('#tables [role=status]').textContent)",
    );
    let operator = column(&mut browser, 0);
    assert!(operator.iter().all(|name| *name == operator[0]), "{operator:?}");
    assert_eq!(browser.faults(), Vec::<String>::new());
}

#[test]
fn the_keyboard_moves_through_tree_and_timeline() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = page_of_training(folder.path());
    browser.open(&page, 1200, "light");
    // Below the idle times.
    press(&mut browser, "#timeline canvas", "ArrowDown");
    press(&mut browser, "#timeline canvas", "n");
    let said = browser.evaluate("document.querySelector('#timeline .details').textContent");
    assert!(said.as_str().unwrap().contains("kind of work"), "{said}");
    press(&mut browser, "#timeline canvas", "+");
    assert!(browser.evaluate("location.hash").as_str().unwrap().contains("zoom="));
    press(&mut browser, "#timeline canvas", "0");
    assert!(!browser.evaluate("location.hash").as_str().unwrap().contains("zoom="));
    unfold(&mut browser, "tree");
    press(&mut browser, "#tree figure svg", "ArrowDown");
    press(&mut browser, "#tree figure svg", "Enter");
    assert!(browser.evaluate("location.hash").as_str().unwrap().contains("tree=0."));
    press(&mut browser, "#tree figure svg", "Escape");
    assert!(!browser.evaluate("location.hash").as_str().unwrap().contains("tree=0."));
    assert_eq!(browser.faults(), Vec::<String>::new());
}

/// The place in a canvas of a moment, from 0 to 1 of the recording, in a row, from the top.
fn point_at(share: f64, y: u32) -> String {
    format!(
        "(() => {{ const frame = document.querySelector('#timeline canvas').getBoundingClientRect(); \
         const names = Number(document.querySelector('#timeline canvas').dataset.names); \
         return {{ clientX: frame.left + names + {share} * (frame.width - names), clientY: frame.top + {y}, bubbles: true, pointerId: 1 }}; }})()"
    )
}

#[test]
fn the_first_screen_has_headline_bar_timeline_and_three_findings() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = page_of_training(folder.path());
    browser.open(&page, 1440, "light");
    for part in ["#head .headline", "#time svg", "#timeline canvas", "#findings article:nth-child(3) .remedy"]
    {
        let bottom =
            browser.evaluate(&format!("document.querySelector('{part}').getBoundingClientRect().bottom"));
        assert!(bottom.as_f64() < Some(900.0), "{part} ends at {bottom}");
    }
    for part in ["tree", "roofline", "communication", "tables", "made"] {
        assert_eq!(browser.evaluate(&format!("document.getElementById('{part}').open")), false, "{part}");
    }
    // What is unfolded is in the address.
    unfold(&mut browser, "roofline");
    browser.wait_for("location.hash.includes('open=roofline')");
}

#[test]
fn an_event_leads_to_its_launch_and_a_call_to_what_it_launched() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = page_of_training(folder.path());
    browser.open(&page, 1440, "light");
    let click = |browser: &mut Browser, share: f64, y: u32| {
        let at = point_at(share, y);
        for kind in ["pointerdown", "pointerup"] {
            browser.evaluate(&format!(
                "document.querySelector('#timeline canvas').dispatchEvent(new PointerEvent('{kind}', {at}))"
            ));
        }
        browser
            .evaluate("document.querySelector('#timeline .details').textContent")
            .as_str()
            .unwrap()
            .to_owned()
    };
    // The scale and the steps, the row of idle times, then the first stream.
    let kernel = click(&mut browser, 0.2, 70);
    assert!(kernel.contains("kind of work") && kernel.contains("before its start, on thread"), "{kernel}");
    // Streams and counters, then the first thread: its topmost event is the step, which launches all of it.
    let step = click(&mut browser, 0.2, 40 + 3 * 20 + 2 * 30 + 5);
    assert!(step.contains("ProfilerStep") && step.contains("device events, "), "{step}");
    assert_eq!(browser.faults(), Vec::<String>::new());
}

#[test]
fn names_are_searched_in_the_timeline() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = page_of_training(folder.path());
    browser.open(&page, 1440, "light");
    press(&mut browser, "#timeline canvas", "/");
    assert_eq!(browser.evaluate("document.activeElement.type"), "search");
    browser.evaluate(
        "{ const field = document.activeElement; field.value = 'nccl'; field.dispatchEvent(new Event('input')); }",
    );
    browser.wait_for(
        "/^[0-9]+ events, 19.26 ms on the device/.test(document.querySelector('#timeline header .note').textContent)",
    );
    press(&mut browser, "#timeline input", "Enter");
    let first = browser.evaluate("document.querySelector('#timeline .details').textContent");
    press(&mut browser, "#timeline input", "Enter");
    let second = browser.evaluate("document.querySelector('#timeline .details').textContent");
    assert!(first.as_str().unwrap().contains("nccl") && first != second, "{first} {second}");
    press(&mut browser, "#timeline canvas", "f");
    assert!(browser.evaluate("location.hash").as_str().unwrap().contains("zoom="));
    let zoom = browser.evaluate("location.hash");
    for key in ["d", "w"] {
        press(&mut browser, "#timeline canvas", key);
    }
    assert_ne!(browser.evaluate("location.hash"), zoom);
    for key in ["s", "a"] {
        press(&mut browser, "#timeline canvas", key);
    }
    assert_eq!(browser.evaluate("location.hash"), zoom, "each key has its opposite");
    assert_eq!(browser.faults(), Vec::<String>::new());
}

#[test]
fn idle_times_add_up_to_those_of_the_bar_and_name_their_causes() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = page_of_training(folder.path());
    browser.open(&page, 1200, "light");
    let legend = "[...document.querySelectorAll('#timeline [aria-label=\"Idle, by cause\"] li')].slice(1).map((cause) => \
                  [cause.querySelector('.swatch').textContent, cause.textContent.slice(1), cause.querySelector('b').textContent])";
    let causes: Vec<[String; 3]> = serde_json::from_value(browser.evaluate(legend)).unwrap();
    assert!(!causes.is_empty());
    assert!(causes.iter().all(|[letter, name, _]| letter.len() == 1 && name.len() > 5), "{causes:?}");
    let us = |text: &str| {
        let (number, unit) = text.split_once(' ').unwrap();
        let factor = match unit {
            "ms" => 1e3,
            "µs" => 1.0,
            "ns" => 1e-3,
            other => panic!("{other}"),
        };
        number.parse::<f64>().unwrap() * factor
    };
    let whole: f64 = causes.iter().map(|[.., time]| us(time)).sum();
    let idle = "[...document.querySelectorAll('#time .legend li')].find((part) => /idle/.test(part.textContent)).lastChild.textContent";
    let idle = us(browser.evaluate(idle).as_str().unwrap());
    assert!((whole - idle).abs() < 0.01 * idle, "{causes:?} of {idle}");
    // The lane of idle times is the first, and says what ended one.
    press(&mut browser, "#timeline canvas", "n");
    let said = browser.evaluate("document.querySelector('#timeline .details').textContent");
    assert!(said.as_str().unwrap().contains("until"), "{said}");
}

#[test]
fn the_tree_of_what_differs_is_moved_through_by_keys_and_filtered() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["cuda", "rocm"].map(|kind| testdata(&format!("generated/{kind}_training_step.json.gz")));
    let runs = [a.to_str().unwrap(), b.to_str().unwrap()];
    run(folder.path(), &["diff", runs[0], runs[1], "--html", "page.html", "--quiet"]);
    browser.open(&folder.path().join("page.html"), 1200, "light");
    browser.evaluate("document.getElementById('difference').scrollIntoView({ behavior: 'instant' })");
    browser.wait_for("document.querySelector('#difference [role=treeitem]') !== null");
    let rows = "document.querySelectorAll('#difference [role=treeitem]').length";
    let count = |browser: &mut Browser| browser.evaluate(rows).as_u64().unwrap();
    let focused = "#difference [role=treeitem][tabindex=\"0\"]";
    let opened = count(&mut browser);
    assert_eq!(
        browser.evaluate("document.querySelector('#difference [role=treeitem]').ariaExpanded"),
        "true"
    );
    press(&mut browser, focused, "ArrowLeft");
    let closed = count(&mut browser);
    assert!(closed < opened, "{closed} of {opened}");
    press(&mut browser, focused, "ArrowRight");
    press(&mut browser, focused, "ArrowDown");
    press(&mut browser, focused, "Enter");
    assert_eq!(count(&mut browser), opened + 1, "the kernels of both runs");
    assert_eq!(browser.evaluate("document.activeElement.getAttribute('aria-level')"), "2");
    let kernels = browser.evaluate("document.querySelector('#difference .kernels').textContent");
    assert!(kernels.as_str().unwrap().contains("B: "), "{kernels}");
    press(&mut browser, focused, "Enter");
    // Each row has a badge in words, and those below the first add up to it.
    let badges =
        "[...document.querySelectorAll('#difference .badge')].every((badge) => badge.textContent.length > 3)";
    assert_eq!(browser.evaluate(badges), true);
    browser.evaluate("[...document.querySelectorAll('#difference button')].find((button) => button.textContent === 'slower only').click()");
    let changes = "[...document.querySelectorAll('#difference .units .number:last-of-type')].map((change) => change.textContent)";
    let changes: Vec<String> = serde_json::from_value(browser.evaluate(changes)).unwrap();
    assert!(changes.len() > 3 && changes.iter().all(|change| change.starts_with('+')), "{changes:?}");
    let least = "{ const field = document.querySelector('#difference input'); field.value = '400'; field.dispatchEvent(new Event('input')); }";
    browser.evaluate(least);
    assert!(count(&mut browser) < opened);
    let address = browser.evaluate("location.hash");
    assert!(address.as_str().unwrap().contains("diff=1&least=400"), "{address}");
    assert_eq!(browser.faults(), Vec::<String>::new());
}

#[test]
fn two_reports_have_arrows_from_rates_to_rates() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = testdata("generated/cuda_training_step.json.gz");
    let other = testdata("generated/rocm_training_step.json.gz");
    let runs = [trace.to_str().unwrap(), other.to_str().unwrap()];
    run(folder.path(), &["compare", runs[0], runs[1], "--html", "page.html", "--quiet"]);
    browser.open(&folder.path().join("page.html"), 1200, "light");
    assert_eq!(browser.evaluate("document.querySelectorAll('#roofline .panels svg').length"), 2);
    let arrows = browser.evaluate("document.querySelectorAll('#roofline .arrow').length");
    assert!(arrows.as_u64() > Some(3), "{arrows}");
    assert_eq!(browser.faults(), Vec::<String>::new());
}

#[test]
fn collectives_stand_by_size_and_bandwidth() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = page_of_training(folder.path());
    browser.open(&page, 1200, "light");
    let marks = browser.evaluate("document.querySelectorAll('#communication svg .edge').length");
    assert!(marks.as_u64() >= Some(1), "{marks}");
    assert_eq!(browser.faults(), Vec::<String>::new());
}

#[test]
fn axe_finds_nothing_serious_light_and_dark() {
    let Some(axe) = std::env::var_os("AXE_CORE") else {
        say_skipped("AXE_CORE names no axe.min.js (npm install axe-core)");
        return;
    };
    let axe = std::fs::read_to_string(axe).unwrap();
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = page_of_training(folder.path());
    let generated = ["cuda", "rocm"].map(|kind| testdata(&format!("generated/{kind}_training_step.json.gz")));
    let ranks = [0, 1].map(|rank| testdata(&format!("recorded/cpu/gloo_collectives_rank{rank}.json.gz")));
    let mut pages = vec![page];
    for (command, [a, b]) in [("diff", &generated), ("compare", &generated), ("ranks", &ranks)] {
        let file = format!("{command}.html");
        run(folder.path(), &[command, a.to_str().unwrap(), b.to_str().unwrap(), "--html", &file, "--quiet"]);
        pages.push(folder.path().join(file));
    }
    for page in &pages {
        for theme in ["light", "dark"] {
            browser.open(page, 1200, theme);
            browser
                .evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))");
            show_tables(&mut browser);
            browser.evaluate(&format!("{axe}; undefined"));
            let found = "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations \
                         .filter(({ impact }) => ['serious', 'critical'].includes(impact)) \
                         .map(({ id, nodes }) => [id, nodes.map((node) => node.html)]))";
            assert_eq!(browser.evaluate(found), json!([]), "{} {theme}", page.display());
        }
    }
}

#[test]
fn hostile_names_are_shown_as_text_and_run_nothing() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let hostile = "</script></noscript><img src=x onerror=\"document.title='run'\"><b>x";
    let event = |category: &str, name: &str, tid: u32, [ts, dur]: [u32; 2], args: Value| json!({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args});
    let trace = json!({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": hostile}], "traceEvents": [
        event("cpu_op", hostile, 1, [100, 50], json!({"External id": 1})),
        event("cuda_runtime", "cudaLaunchKernel", 1, [110, 9], json!({"External id": 1, "correlation": 7})),
        event("kernel", hostile, 7, [200, 50], json!({"External id": 1, "correlation": 7, "device": 0, "stream": 7})),
    ]});
    std::fs::write(folder.path().join("<img onerror=x>.json"), trace.to_string()).unwrap();
    run(folder.path(), &["report", "<img onerror=x>.json", "--html", "page.html", "--quiet"]);
    browser.open(&folder.path().join("page.html"), 1200, "light");
    show_tables(&mut browser);
    assert_eq!(browser.evaluate("document.querySelectorAll('img').length"), 0);
    assert_eq!(browser.evaluate("document.title"), "<img onerror=x>.json · tracelens");
    let names = column(&mut browser, 0);
    assert!(names.iter().any(|name| name == hostile), "{names:?}");
    // The policy stops what would get into the page all the same.
    browser.evaluate(
        "{ const added = document.createElement('script'); added.textContent = 'document.title = \"run\"'; \
         document.body.append(added); }",
    );
    assert_eq!(browser.evaluate("document.title"), "<img onerror=x>.json · tracelens");
}
