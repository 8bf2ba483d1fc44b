//! Names of process, thread and module of events, for tables.

use hashbrown::HashMap;
use trace_ingest::{StringId, TrackId};

use crate::analysis::Analysis;

/// Names of process and thread, one id per distinct triple: different tracks may bear the same names. Names of
/// modules, one id each.
pub(crate) struct Places<'a> {
    analysis: &'a Analysis,
    by_track: Vec<Option<u32>>,
    ids: HashMap<[&'a str; 3], u32>,
    texts: Vec<[&'a str; 3]>,
    module_ids: HashMap<&'a str, u32>,
    modules: Vec<&'a str>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(analysis: &'a Analysis) -> Self {
        let by_track = vec![None; analysis.trace().tracks().len()];
        Places {
            analysis,
            by_track,
            ids: HashMap::new(),
            texts: Vec::new(),
            module_ids: HashMap::new(),
            modules: Vec::new(),
        }
    }

    pub(crate) fn of(&mut self, track: TrackId) -> u32 {
        let Places { analysis, by_track, ids, texts, .. } = self;
        *by_track[track.index()].get_or_insert_with(|| {
            let trace = analysis.trace();
            let process = trace.process(track);
            let text = |name: Option<StringId>| name.map_or("Unknown", |name| trace.text(name));
            let place =
                [text(process.name), text(process.labels), trace.thread_name(track).unwrap_or("Unknown")];
            *ids.entry(place).or_insert_with(|| {
                texts.push(place);
                texts.len() as u32 - 1
            })
        })
    }

    pub(crate) fn texts(&self, place: u32) -> [&'a str; 3] {
        self.texts[place as usize]
    }

    pub(crate) fn module(&mut self, name: &'a str) -> u32 {
        let Places { module_ids, modules, .. } = self;
        *module_ids.entry(name).or_insert_with(|| {
            modules.push(name);
            modules.len() as u32 - 1
        })
    }

    pub(crate) fn module_text(&self, module: u32) -> &'a str {
        self.modules[module as usize]
    }
}
