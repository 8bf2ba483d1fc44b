//! Steps of a thread that nothing marks: one pass over the model each, told apart by what passes begin and end with.

use super::calls::{Attends, Call, Item, NARROWEST_VOCABULARY, What};
use super::names::Transfer;
use super::vocabulary::Vocabulary;

/// Moments at which a step begins, ascending. Items before the first belong to a step that began before them.
///
/// - Logits end a step, with the choice of tokens that reads them and its copy to the host; what follows prepares the
///   next step.
/// - The embedding of tokens begins one, if the model ran since the last began: a chunk of a prompt whose logits nobody
///   wants has no other end.
/// - A graph launch right after another begins one: within one pass, graphs alternate with attention outside of them.
///   A graph with attention in it holds a pass, so attention outside of graphs is of another.
/// - Attention over another number of tokens, layer after layer, begins one, and so does attention of the other kind.
pub(super) fn boundaries(items: &[Item], vocabulary: &Vocabulary) -> Vec<i64> {
    let mut found = Vec::new();
    let mut pass = Pass::default();
    let mut kinds = Kinds::default();
    for item in items {
        let by_pass = pass.next(item, vocabulary);
        if by_pass.is_some() {
            kinds = Kinds::default();
        }
        let by_kind = kinds.next(item);
        if by_pass.is_none() && by_kind.is_some() {
            pass = Pass::default();
        }
        found.extend(by_pass.or(by_kind));
    }
    found
}

/// What was seen of the current step.
#[derive(Default)]
struct Pass {
    /// Whether the model ran.
    ran: bool,
    /// End of the last operator on logits, or of the copy of what was chosen.
    logits_end: Option<i64>,
    /// Whether anything was copied since.
    copied: bool,
    /// End of the last graph launch, if nothing attended since.
    graph_end: Option<i64>,
    /// Whether that graph has attention in it.
    graph_attends: bool,
    /// Whether something attended outside of graphs.
    attended: bool,
    /// End of the last attention, nested ones aside.
    attention_end: Option<i64>,
    /// Query tokens of attention, and how often in a row.
    rows: Option<(i64, usize)>,
    /// Another number of tokens since: how many, where its step begins, and whether attention had it.
    other_rows: Option<(i64, i64, bool)>,
}

impl Pass {
    /// Takes an item; the moment a new step began, if it did.
    fn next(&mut self, item: &Item, vocabulary: &Vocabulary) -> Option<i64> {
        if is_logits(item, vocabulary) {
            self.logits_end = Some(self.logits_end.map_or(item.end, |end| end.max(item.end)));
            self.copied = false;
            return None;
        }
        if let (What::Launch(launch), Some(end)) = (item.what, self.logits_end)
            && let Some(transfer) = launch.transfer.filter(|_| !self.copied && item.start >= end)
        {
            self.copied = true;
            if transfer == Transfer::ToHost {
                self.logits_end = Some(item.end);
            }
        }
        if !runs_model(item, vocabulary) {
            return None;
        }
        let boundary = self.boundary(item);
        if boundary.is_some() {
            *self = Pass::default();
        }
        match item.what {
            What::Launch(launch) if launch.is_graph => {
                self.ran = true;
                (self.graph_end, self.graph_attends) = (Some(item.end), launch.attention > 0);
            }
            What::Launch(_) | What::Call(Call::Attention(_)) | What::Attends => {
                (self.ran, self.attended) = (true, true);
                self.graph_end = None;
            }
            What::Call(Call::Projection { .. }) => self.ran = true,
            _ => {}
        }
        let by_tokens = self.follow_rows(item);
        if boundary.is_none() && by_tokens.is_some() {
            let (attention_end, rows) = (self.attention_end, self.rows);
            *self = Pass { ran: true, attended: true, attention_end, rows, ..Pass::default() };
        }
        boundary.or(by_tokens)
    }

    fn boundary(&self, item: &Item) -> Option<i64> {
        if let Some(end) = self.logits_end.filter(|&end| item.start >= end) {
            return Some(end);
        }
        match item.what {
            What::Call(Call::Embedding { entries, .. }) if entries >= NARROWEST_VOCABULARY && self.ran => {
                Some(item.start)
            }
            What::Launch(launch) if launch.is_graph && launch.attention > 0 && self.attended => {
                Some(item.start)
            }
            What::Launch(launch) if launch.is_graph => self.graph_end,
            What::Launch(_) | What::Call(Call::Attention(_)) | What::Attends if self.graph_attends => {
                self.graph_end
            }
            _ => None,
        }
    }

    /// Follows the number of tokens. One step may attend twice per layer, over prompts and over the rest, so a number
    /// counts as another step's only when attention has it twice in a row after the first one was so too.
    fn follow_rows(&mut self, item: &Item) -> Option<i64> {
        let (rows, attends) = match item.what {
            What::Call(Call::Attention(call)) => (call.rows?, true),
            What::Call(Call::Norm { rows, .. } | Call::Projection { rows, .. }) => (rows, false),
            _ => return None,
        };
        if attends {
            // Operators nest: the inner one may see fewer, without padding.
            if self.attention_end.is_some_and(|end| item.start < end) {
                return None;
            }
            self.attention_end = Some(item.end);
        }
        let Some((current, times)) = self.rows else {
            self.rows = attends.then_some((rows, 1));
            return None;
        };
        if rows == current {
            if attends {
                self.rows = Some((current, if self.other_rows.is_some() { 1 } else { times + 1 }));
                self.other_rows = None;
            }
            return None;
        }
        match self.other_rows {
            Some((other, _, false)) if attends && other != rows => {
                self.other_rows = Some((rows, item.start, true));
            }
            Some((other, begin, false)) if attends => self.other_rows = Some((other, begin, true)),
            Some((other, begin, true)) if attends => {
                if other == rows && times >= 2 {
                    (self.rows, self.other_rows) = (Some((rows, 2)), None);
                    return Some(begin);
                }
                (self.rows, self.other_rows) = (Some((rows, 1)), None);
            }
            None => self.other_rows = Some((rows, item.start, attends)),
            Some(_) => {}
        }
        None
    }
}

/// Follows whether attention is generation's, where kernels' names say.
#[derive(Default)]
struct Kinds {
    /// The kind so far and how often in a row.
    current: Option<(Attends, usize)>,
    /// How often in a row the other kind since, and where its step begins.
    other: Option<(usize, i64)>,
    /// End of the last launch; the longest pause of the host since the last attention, and where it ends.
    last_end: Option<i64>,
    pause: Option<(i64, i64)>,
}

/// One layer may attend for both kinds, and with several kernels each; this many in a row are of several layers.
const LAYER_AFTER_LAYER: usize = 3;

impl Kinds {
    /// Takes an item; the moment a step of the other kind began, once that is sure. The host pauses between steps.
    fn next(&mut self, item: &Item) -> Option<i64> {
        let What::Launch(launch) = item.what else { return None };
        let pause = item.start.saturating_sub(self.last_end.unwrap_or(item.start));
        if self.pause.is_none_or(|(longest, _)| pause > longest) {
            self.pause = Some((pause, item.start));
        }
        self.last_end = Some(item.end);
        let kind = launch.attends?;
        let begin = self.pause.take().map_or(item.start, |(_, end)| end);
        let Some((current, times)) = self.current else {
            self.current = Some((kind, 1));
            return None;
        };
        if kind == current {
            self.current = Some((kind, if self.other.is_some() { 1 } else { times + 1 }));
            self.other = None;
            return None;
        }
        let (count, begin) = self.other.map_or((1, begin), |(count, begin)| (count + 1, begin));
        if times >= LAYER_AFTER_LAYER && count >= LAYER_AFTER_LAYER {
            (self.current, self.other) = (Some((kind, count)), None);
            return Some(begin);
        }
        self.other = Some((count, begin));
        None
    }
}

fn is_logits(item: &Item, vocabulary: &Vocabulary) -> bool {
    match item.what {
        What::Call(Call::Projection { inner, outer, .. }) => vocabulary.is_head(inner, outer),
        What::Call(Call::Sampling { width, .. } | Call::Wide { width, .. }) => vocabulary.is_logits(width),
        What::Chooses => true,
        _ => false,
    }
}

/// Whether an item is part of a pass over the model.
fn runs_model(item: &Item, vocabulary: &Vocabulary) -> bool {
    match item.what {
        What::Call(Call::Embedding { .. } | Call::Attention(_)) | What::Attends => true,
        What::Call(Call::Projection { inner, .. }) => vocabulary.is_hidden(inner),
        What::Call(Call::Norm { width, .. }) => vocabulary.is_hidden(width),
        What::Launch(launch) => launch.is_graph || launch.attention > 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::calls::Launch;
    use trace_ingest::StringId;

    /// Launches 10 apart, with a longer pause before those marked `true`.
    fn launches(all: &[(bool, Option<Attends>)]) -> Vec<Item> {
        let mut start = 0;
        let mut item = |&(pauses, attends): &(bool, Option<Attends>)| {
            start += if pauses { 50 } else { 10 };
            let attention = usize::from(attends.is_some());
            let launch = Launch { is_graph: false, device_time: 1, attention, attends, transfer: None };
            Item { start, end: start + 5, name: StringId::EMPTY, what: What::Launch(launch) }
        };
        all.iter().map(&mut item).collect()
    }

    #[test]
    fn attention_of_the_other_kind_layer_after_layer_begins_a_step_after_the_pause_before_it() {
        let (generation, otherwise) = (Some(Attends::Generation), Some(Attends::Otherwise));
        let layers = |kind, times: usize| [(false, None), (false, kind), (false, None)].repeat(times);
        let mut items = layers(otherwise, 4);
        items.push((true, None));
        items.extend(layers(generation, 4));
        let items = launches(&items);
        assert_eq!(boundaries(&items, &Vocabulary::default()), [items[12].start]);

        // Every layer attends for both kinds, with two kernels for one of them.
        let mixed = [(false, otherwise), (false, generation), (false, generation)].repeat(6);
        assert!(boundaries(&launches(&mixed), &Vocabulary::default()).is_empty());
    }
}
