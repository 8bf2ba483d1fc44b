//! Shares, order and text of the picture.

use super::layout::place;
use super::{Arrangement, StackedBar, StackedSegment, StackedTime};

fn segment(name: &str, category: usize, time_us: f64) -> StackedSegment {
    StackedSegment { name: name.into(), category, time_us, details: vec!["more".into()] }
}

fn picture(bars: Vec<StackedBar>) -> StackedTime {
    StackedTime {
        title: "time".into(),
        categories: vec!["Compute".into(), "TM".into()],
        bars,
        ..StackedTime::default()
    }
}

fn bar(name: &str, segments: Vec<StackedSegment>) -> StackedBar {
    StackedBar { name: name.into(), segments }
}

#[test]
fn segments_fill_the_bar_from_the_bottom() {
    let bar = bar("", vec![segment("b", 1, 60.0), segment("a", 0, 10.0), segment("c", 0, 30.0)]);
    let order = |arrangement| -> Vec<(String, i32, i32, usize)> {
        let placed = place(&bar, arrangement, 100);
        placed.iter().map(|one| (one.segment.name.clone(), one.bottom, one.top, one.shade)).collect()
    };
    let of = |name: &str, bottom, top, shade| (name.to_owned(), bottom, top, shade);
    assert_eq!(order(Arrangement::ByCategory), [of("c", 100, 70, 0), of("a", 70, 60, 1), of("b", 60, 0, 0)]);
    assert_eq!(order(Arrangement::ByTime), [of("b", 100, 40, 0), of("c", 40, 10, 0), of("a", 10, 0, 1)]);
}

#[test]
fn what_has_no_time_is_not_drawn() {
    let odd = [f64::NAN, f64::INFINITY, -1.0, 0.0].map(|time| segment("odd", 0, time));
    let svg = picture(vec![bar("", odd.to_vec())]).to_svg().unwrap();
    assert!(svg.contains("There is no time to show.") && !svg.contains("odd"), "{svg}");
    assert!(picture(vec![]).to_svg().unwrap().contains("There is no time to show."));
}

#[test]
fn small_segments_are_counted_not_named() {
    let segments = vec![segment("large", 0, 98.5), segment("small", 1, 1.5)];
    let svg = picture(vec![bar("", segments)]).to_svg().unwrap();
    assert!(svg.contains("large") && !svg.contains("small"));
    assert!(svg.contains("Not named: 1 segments below 2 %, together 1.5 %."), "{svg}");
}

#[test]
fn names_are_escaped() {
    let svg = picture(vec![bar("<d>", vec![segment("a<b>&\"\u{1}", 0, 1.0)])]).to_svg().unwrap();
    assert!(svg.contains("a&lt;b&gt;&amp;&quot;\u{fffd}") && svg.contains("&lt;d&gt;"), "{svg}");
}

#[test]
fn every_device_has_a_bar() {
    let device =
        |number: usize| bar(&format!("device {number}"), vec![segment("op", 0, number as f64 + 1.0)]);
    let of_devices = |count: usize| picture((0..count).map(device).collect()).to_svg().unwrap();
    let few = of_devices(8);
    assert_eq!(few.matches("100.0 %").count(), 9, "a bar each, and the legend");
    assert!(few.contains("device 7") && !few.contains("not drawn"));
    // Bars too narrow for text have none.
    let many = of_devices(40);
    assert_eq!(many.matches("100.0 %").count(), 1);
    assert!(many.contains("8 more bars are not drawn."));
}

#[test]
fn a_category_that_is_not_there_is_an_error() {
    let error = picture(vec![bar("", vec![segment("op", 2, 1.0)])]).to_svg().unwrap_err();
    assert!(error.to_string().contains("category number 2"), "{error}");
}
