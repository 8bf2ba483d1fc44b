//! Which chip the operations ran on.

use trace_ingest::metal::{CsvFormat, OpsTable};

use crate::chips::{Chip, chip};
use crate::notice::MetalNotice;
use crate::options::{MetalError, MetalOptions};

/// Chip of files that name none: the one that the profiler's old formats were written for.
const DEFAULT_CHIP: &str = "wormhole";

/// The chip to compare with and its cores: as the user says, else as the file says.
pub(crate) fn hardware(
    table: &OpsTable,
    options: &MetalOptions,
    notices: &mut Vec<MetalNotice>,
) -> Result<(&'static Chip, u32), MetalError> {
    let names_chip = table.format == CsvFormat::V2_1;
    let mut names: Vec<String> = Vec::new();
    for row in table.rows.iter().filter(|_| names_chip) {
        let name = table.text(row.arch).trim().to_lowercase();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    let taken = match (&options.arch, names.first()) {
        (Some(name), _) => chip(name)?,
        (None, Some(name)) => chip(name).map_err(MetalError::UnknownChipInFile)?,
        (None, None) => chip(DEFAULT_CHIP)?,
    };
    let file_cores = table.rows.iter().filter(|_| names_chip).filter_map(|row| row.available_cores).max();
    let cores = file_cores.unwrap_or(taken.worker_cores);
    if names.len() > 1 {
        notices.push(MetalNotice::SeveralChips { names: names.clone(), taken: taken.name });
    }
    if options.arch.is_none() {
        match names.first() {
            None => {
                let used = table.rows.iter().filter_map(|row| row.core_count).max();
                let most_used = used.filter(|used| *used < cores);
                notices.push(MetalNotice::ChipGuessed { chip: taken.name, cores, most_used });
            }
            Some(name) if name == "blackhole" => notices.push(MetalNotice::CardAssumed {
                chip: name.clone(),
                dram_gb_per_s: taken.dram_gb_per_s,
                others: "p100",
            }),
            Some(_) => {}
        }
    }
    Ok((taken, cores))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand_made::{Line, table};

    fn of(lines: &[Line], arch: Option<&str>) -> Result<(&'static str, u32, Vec<MetalNotice>), MetalError> {
        let mut table = table(lines);
        table.format = CsvFormat::V2_1;
        let options = MetalOptions { arch: arch.map(str::to_owned), ..MetalOptions::default() };
        let mut notices = Vec::new();
        hardware(&table, &options, &mut notices).map(|(chip, cores)| (chip.name, cores, notices))
    }

    #[test]
    fn the_file_says_the_chip_and_its_largest_budget_counts() {
        let lines =
            [108, 12, 120].map(|cores| Line { arch: "Blackhole", available: Some(cores), ..Line::op("A") });
        let (chip, cores, notices) = of(&lines, None).unwrap();
        assert_eq!((chip, cores), ("blackhole", 120));
        assert!(matches!(&notices[..], [MetalNotice::CardAssumed { .. }]));
        assert_eq!(of(&lines, Some("p100")).unwrap().0, "blackhole_p100");
    }

    #[test]
    fn a_file_without_a_chip_is_compared_with_the_default_and_says_so() {
        let (chip, cores, notices) = of(&[Line { cores: Some(20), ..Line::op("A") }], None).unwrap();
        assert_eq!((chip, cores), ("wormhole", 64));
        let guess = MetalNotice::ChipGuessed { chip: "wormhole", cores: 64, most_used: Some(20) };
        assert_eq!(notices, [guess]);
        assert_eq!(of(&[Line::op("A")], Some("n1")).unwrap(), ("n1", 20, Vec::new()));
    }

    #[test]
    fn several_chips_are_told_and_unknown_ones_are_errors() {
        let line = |arch| Line { arch, ..Line::op("A") };
        let (chip, _, notices) = of(&[line("wormhole_b0"), line("blackhole")], None).unwrap();
        assert_eq!(chip, "wormhole");
        assert!(matches!(&notices[..], [MetalNotice::SeveralChips { .. }]));
        let in_file = of(&[line("quasar")], None).unwrap_err();
        assert!(
            in_file.to_string().contains("quasar") && in_file.to_string().contains("wormhole"),
            "{in_file}"
        );
        assert!(matches!(of(&[line("wormhole")], Some("x")), Err(MetalError::UnknownChip(_))));
    }
}
