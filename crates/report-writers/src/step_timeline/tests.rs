use super::*;

const PHASES: [&str; 4] = ["Prefill", "Decode", "Mixed", "Unknown"];

fn step(from: f64, to: f64, phase: usize, label: &str) -> StepBar {
    StepBar { span_ms: Some((from, to)), busy_ms: to - from, phase, label: label.into() }
}

fn timeline(steps: Vec<StepBar>) -> StepTimeline {
    StepTimeline {
        title: "decode".into(),
        phases: PHASES.map(String::from).to_vec(),
        label_meaning: "tokens".into(),
        engines: vec![StepEngine { name: String::new(), steps }],
        footnote: "2 steps are unknown.".into(),
    }
}

/// Decodes of a millisecond end to end; one in the middle is a prefill.
fn many(count: usize) -> StepTimeline {
    let mut steps: Vec<StepBar> = (0..count).map(|at| step(at as f64, at as f64 + 0.9, 1, "32")).collect();
    steps[count / 2].phase = 0;
    steps[count / 2].label = "15360".into();
    timeline(steps)
}

/// Rectangles of a colour: left edge and width.
fn bars(svg: &str, color: &str) -> Vec<(i32, i32)> {
    let number = |rect: &str, name: &str| -> i32 {
        let rest = rect.split_once(&format!(" {name}=\"")).unwrap().1;
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    svg.split("<rect")
        .skip(1)
        .filter(|rect| rect.split_once("/>").unwrap().0.contains(color))
        .map(|rect| (number(rect, "x"), number(rect, "width")))
        .collect()
}

const PREFILL: &str = "#004488";
const DECODE: &str = "#DDAA33";

#[test]
fn a_bar_per_step_with_its_colour_its_label_and_the_legend() {
    let steps = vec![step(0.0, 60.0, 0, "15360"), step(60.0, 90.0, 1, "32"), step(95.0, 100.0, 1, "31")];
    let svg = timeline(steps).to_svg().unwrap();
    for part in [
        "decode",
        "Prefill 1 step · 63.2%",
        "Decode 2 steps · 36.8%",
        "numbers at bars: tokens",
        "time on the device (ms)",
        "15360",
        "32",
        "31",
        "2 steps are unknown.",
    ] {
        assert!(svg.contains(part), "no {part:?} in {svg}");
    }
    assert!(!svg.contains("Mixed") && !svg.contains("drawn together"), "{svg}");
    // The legend, then the bars on a plot of 992 pixels from 24 on.
    assert_eq!(bars(&svg, PREFILL), [(24, 14), (24, 594)]);
    assert_eq!(bars(&svg, DECODE)[1..], [(619, 297), (966, 49)]);
}

#[test]
fn a_lone_prefill_is_seen_and_named_among_any_number_of_decodes() {
    for count in [100, 10_000, 100_000] {
        let svg = many(count).to_svg().unwrap();
        let prefill = bars(&svg, PREFILL);
        assert_eq!(prefill.len(), 2, "{count}");
        assert!(prefill[1].1 >= 2, "{count}: {prefill:?}");
        assert!((519..=522).contains(&prefill[1].0), "{count}: {prefill:?}");
        assert!(svg.contains("15360"), "{count}");
        assert!(svg.len() < 60_000, "{count}: {} bytes", svg.len());
    }
    let svg = many(10_000).to_svg().unwrap();
    assert!(svg.contains("10000 of 10000 steps are narrower than 3 pixels"), "{svg}");
}

#[test]
fn the_worst_picture_is_small() {
    // Phases alternate in every pixel of every lane.
    let steps = (0..100_000)
        .map(|at| step(f64::from(at), f64::from(at) + 60.0, at as usize / 100 % 4, "1"))
        .collect();
    let svg = timeline(steps).to_svg().unwrap();
    assert!(svg.len() < 1_000_000, "{} bytes", svg.len());
}

#[test]
fn names_and_labels_are_text_whatever_they_hold() {
    let evil = "</text><script>\"&\u{1}\u{ffff}";
    let mut timeline = timeline(vec![step(0.0, 10.0, 0, evil)]);
    timeline.title = evil.into();
    timeline.phases[0] = evil.into();
    timeline.engines[0].name = evil.into();
    timeline.footnote = evil.into();
    let svg = timeline.to_svg().unwrap();
    assert!(!svg.contains("<script>") && !svg.contains('\u{1}') && !svg.contains('\u{ffff}'), "{svg}");
    assert_eq!(svg.matches("&lt;script&gt;&quot;&amp;").count(), 5, "{svg}");
}

#[test]
fn engines_have_blocks_with_their_names() {
    let mut timeline = timeline(vec![step(0.0, 10.0, 0, "a"), step(5.0, 15.0, 0, "b")]);
    timeline.engines[0].name = "thread 1".into();
    let one = timeline.to_svg().unwrap();
    timeline.engines.push(StepEngine { name: "thread 2".into(), steps: vec![step(20.0, 30.0, 1, "c")] });
    let two = timeline.to_svg().unwrap();
    let height = |svg: &str| -> u32 {
        svg.split_once("height=\"").unwrap().1.split_once('"').unwrap().0.parse().unwrap()
    };
    assert!(one.contains("thread 1") && two.contains("thread 1") && two.contains("thread 2"), "{two}");
    assert!(height(&one) < height(&two));
    timeline.engines.extend((0..30).map(|at| StepEngine { name: format!("extra {at}"), steps: Vec::new() }));
    assert!(timeline.to_svg().unwrap().contains("8 more engines are not drawn."));
}

#[test]
fn what_is_not_drawn_is_said() {
    let mut odd = step(0.0, 1.0, 1, "x");
    odd.span_ms = None;
    let svg = timeline(vec![odd, step(f64::NAN, 1.0, 1, "y"), step(0.0, 1.0, 0, "z")]).to_svg().unwrap();
    assert!(svg.contains("2 of 3 steps did nothing on the device and are not drawn."), "{svg}");
    let crowd = (0..20).map(|at| step(f64::from(at), 100.0, 1, "")).collect();
    assert!(timeline(crowd).to_svg().unwrap().contains("12 steps overlap with more than 8 others"));
    assert!(timeline(Vec::new()).to_svg().unwrap().contains("There are no steps."));
}

#[test]
fn a_phase_that_does_not_exist_is_refused() {
    let error = timeline(vec![step(0.0, 1.0, 4, "")]).to_svg().unwrap_err().to_string();
    assert_eq!(
        error,
        "the picture cannot be drawn: a step has phase number 4, but there are 4, counted from 0"
    );
}

#[test]
fn one_moment_and_no_busy_time_make_a_picture() {
    let svg = timeline(vec![step(7.0, 7.0, 1, "32")]).to_svg().unwrap();
    assert!(svg.contains("Decode 1 step") && !svg.contains("NaN") && !svg.contains('%'), "{svg}");
}

#[test]
fn the_picture_is_repeatable_and_the_order_of_steps_says_nothing() {
    let mut timeline = many(1000);
    let svg = timeline.to_svg().unwrap();
    assert_eq!(svg, timeline.to_svg().unwrap());
    timeline.engines[0].steps.reverse();
    assert_eq!(svg, timeline.to_svg().unwrap());
}

#[test]
fn small_shares_are_not_nothing() {
    let svg = timeline(vec![step(0.0, 10_000.0, 0, ""), step(10_000.0, 10_000.1, 1, "")]).to_svg().unwrap();
    assert!(svg.contains("Prefill 1 step · 100.0%"), "{svg}");
    assert!(svg.contains("Decode 1 step · &lt;0.1%"), "{svg}");
    // Without labels not a word about them.
    assert!(!svg.contains("numbers at bars"), "{svg}");
}
