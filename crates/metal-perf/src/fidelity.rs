//! Whether a product's math fidelity fits its datatypes: fewer passes are faster and drop low bits of the operands.

use std::fmt;

/// How many passes over the bits of its operands a product makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// Four passes.
    HiFi4,
    /// Three passes.
    HiFi3,
    /// Two passes.
    HiFi2,
    /// One pass.
    LoFi,
}

impl Fidelity {
    /// The fidelity of a name as the profiler writes it.
    pub fn from_name(name: &str) -> Option<Fidelity> {
        match name {
            "HiFi4" => Some(Fidelity::HiFi4),
            "HiFi3" => Some(Fidelity::HiFi3),
            "HiFi2" => Some(Fidelity::HiFi2),
            "LoFi" => Some(Fidelity::LoFi),
            _ => None,
        }
    }
}

/// How a fidelity fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As precise as the datatypes need.
    Sufficient,
    /// More precise than they need.
    TooHigh,
    /// Less precise than they need.
    TooLow,
    /// Fidelity says nothing of integers.
    NotApplicable,
    /// A datatype is not known.
    Unknown,
}

/// What to do about a fidelity. Its text is the advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FidelityHint {
    /// One of the datatypes is an integer.
    Integers,
    /// This datatype is not known.
    UnknownDatatype(String),
    /// Full precision; HiFi2 would drop one bit of the activations.
    Hifi2DropsOneActivationBit,
    /// Precision is lost that HiFi4 would keep.
    Hifi4ForFullPrecision,
    /// LoFi drops too much of what goes in and out.
    LofiIsTooCoarse,
    /// HiFi2 is very likely enough for a 4-bit block output.
    Hifi2AlmostCertainlyEnoughForBfp4Output,
    /// HiFi2 is likely enough for a 4-bit block output.
    Hifi2LikelyEnoughForBfp4Output,
    /// LoFi may be enough for a 4-bit block output.
    LofiMayDoForBfp4Output,
    /// HiFi2 may be better where many products are added.
    Hifi2ForManyAccumulations,
    /// HiFi2 keeps all bits of 8-bit block numbers.
    Hifi2EnoughForBfp8,
    /// LoFi drops two bits of the weights.
    LofiDropsTwoWeightBits,
    /// HiFi2 may be a little more precise.
    Hifi2SlightlyBetter,
    /// LoFi keeps all bits of 4-bit block weights.
    LofiEnoughForBfp4Weights,
}

impl FidelityHint {
    /// What to do to make the product faster; `None` of what is about its accuracy.
    #[must_use]
    pub fn faster(&self) -> Option<&'static str> {
        Some(match self {
            FidelityHint::Hifi2DropsOneActivationBit => "try HiFi2 if accuracy allows",
            FidelityHint::Hifi2AlmostCertainlyEnoughForBfp4Output
            | FidelityHint::Hifi2LikelyEnoughForBfp4Output
            | FidelityHint::Hifi2EnoughForBfp8 => "use HiFi2",
            FidelityHint::LofiMayDoForBfp4Output => "try LoFi",
            FidelityHint::LofiEnoughForBfp4Weights => "use LoFi",
            FidelityHint::Integers
            | FidelityHint::UnknownDatatype(_)
            | FidelityHint::Hifi4ForFullPrecision
            | FidelityHint::LofiIsTooCoarse
            | FidelityHint::Hifi2ForManyAccumulations
            | FidelityHint::LofiDropsTwoWeightBits
            | FidelityHint::Hifi2SlightlyBetter => return None,
        })
    }
}

impl fmt::Display for FidelityHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FidelityHint::Integers => "math fidelity does not matter for integer datatypes",
            FidelityHint::UnknownDatatype(name) => {
                return write!(f, "cannot judge the math fidelity: datatype '{name}' is not known");
            }
            FidelityHint::Hifi2DropsOneActivationBit => {
                "full precision; HiFi2 would double the peak but cost the lowest bit of the activations: try it if \
                 accuracy allows"
            }
            FidelityHint::Hifi4ForFullPrecision => {
                "HiFi4 keeps every bit of the operands: use it for full accuracy if the operation is not \
                 compute-bound"
            }
            FidelityHint::LofiIsTooCoarse => {
                "LoFi drops bits that the operands and the output hold: use HiFi2 or HiFi4"
            }
            FidelityHint::Hifi2AlmostCertainlyEnoughForBfp4Output => {
                "a BFP4 output very likely needs no more than HiFi2, which has twice the peak"
            }
            FidelityHint::Hifi2LikelyEnoughForBfp4Output => {
                "a BFP4 output likely needs no more than HiFi2, which is faster"
            }
            FidelityHint::LofiMayDoForBfp4Output => {
                "a BFP4 output may get by with LoFi, which has nearly twice the peak: try it"
            }
            FidelityHint::Hifi2ForManyAccumulations => {
                "HiFi2 may be more accurate where many products are summed: try it"
            }
            FidelityHint::Hifi2EnoughForBfp8 => "HiFi2 keeps every bit of BFP8 operands and has up to twice the peak",
            FidelityHint::LofiDropsTwoWeightBits => "LoFi drops two bits of the weights: HiFi2 is advised",
            FidelityHint::Hifi2SlightlyBetter => "HiFi2 may be slightly more accurate: try it",
            FidelityHint::LofiEnoughForBfp4Weights => "LoFi keeps every bit of BFP4 weights and is the fastest",
        })
    }
}

/// Verdict with what to do, if anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FidelityVerdict {
    /// How the fidelity fits.
    pub verdict: Verdict,
    /// What to do about it.
    pub hint: Option<FidelityHint>,
}

const INTEGERS: &[&str] = &["UINT8", "UINT16", "INT32", "UINT32"];

/// Bits of a datatype's mantissa, the hidden one included.
fn mantissa_bits(datatype: &str) -> Option<u32> {
    match datatype {
        "FLOAT32" => Some(23),
        "BFLOAT16" => Some(8),
        "BFLOAT8_B" => Some(7),
        "BFLOAT4_B" => Some(3),
        _ => None,
    }
}

/// How `fidelity` fits a product of `activations` (input 0) and `weights` (input 1) into `output`; datatypes by
/// their full names (`BFLOAT16`). `None` where the fidelity itself is none that is known.
///
/// A pass covers some of an operand's mantissa bits: HiFi4 all of bfloat16's 8 on both sides, HiFi2 all of 7-bit
/// weights, LoFi the 3 bits of a BFP4 number (tt-metal, technical report on matrix engine fidelities). Activations
/// of bfloat16 are judged before 4-bit weights are.
pub(crate) fn fidelity_verdict(
    fidelity: &str,
    activations: &str,
    weights: &str,
    output: &str,
) -> Option<FidelityVerdict> {
    use FidelityHint as Hint;
    use Verdict::{Sufficient, TooHigh, TooLow};
    let datatypes = [activations, weights, output];
    if datatypes.iter().any(|datatype| INTEGERS.contains(datatype)) {
        return Some(FidelityVerdict { verdict: Verdict::NotApplicable, hint: Some(Hint::Integers) });
    }
    if let Some(unknown) = datatypes.iter().find(|datatype| mantissa_bits(datatype).is_none()) {
        let hint = Some(Hint::UnknownDatatype((*unknown).to_owned()));
        return Some(FidelityVerdict { verdict: Verdict::Unknown, hint });
    }
    // From HiFi4 to LoFi.
    let [activations, weights, output] = datatypes.map(|datatype| mantissa_bits(datatype).unwrap_or(0));
    let verdicts = match (activations, weights, output) {
        (8, _, 7..) => [
            (Sufficient, Some(Hint::Hifi2DropsOneActivationBit)),
            (TooLow, Some(Hint::Hifi4ForFullPrecision)),
            (TooLow, Some(Hint::Hifi4ForFullPrecision)),
            (TooLow, Some(Hint::LofiIsTooCoarse)),
        ],
        (8, _, _) => [
            (TooHigh, Some(Hint::Hifi2AlmostCertainlyEnoughForBfp4Output)),
            (TooHigh, Some(Hint::Hifi2LikelyEnoughForBfp4Output)),
            (Sufficient, Some(Hint::LofiMayDoForBfp4Output)),
            (TooLow, Some(Hint::Hifi2ForManyAccumulations)),
        ],
        (_, 7.., 7..) => [
            (TooHigh, Some(Hint::Hifi2EnoughForBfp8)),
            (TooHigh, Some(Hint::Hifi2EnoughForBfp8)),
            (Sufficient, None),
            (TooLow, Some(Hint::LofiDropsTwoWeightBits)),
        ],
        (_, 7.., _) => [
            (TooHigh, Some(Hint::Hifi2EnoughForBfp8)),
            (TooHigh, Some(Hint::Hifi2EnoughForBfp8)),
            (Sufficient, Some(Hint::LofiMayDoForBfp4Output)),
            (TooLow, Some(Hint::Hifi2SlightlyBetter)),
        ],
        _ => [
            (TooHigh, Some(Hint::LofiEnoughForBfp4Weights)),
            (TooHigh, Some(Hint::LofiEnoughForBfp4Weights)),
            (TooHigh, Some(Hint::LofiEnoughForBfp4Weights)),
            (Sufficient, None),
        ],
    };
    let (verdict, hint) = verdicts.into_iter().nth(Fidelity::from_name(fidelity)? as usize)?;
    Some(FidelityVerdict { verdict, hint })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, types of activations, weights and output that belong to it, verdicts at HiFi4, HiFi3, HiFi2 and LoFi: `=`
    /// sufficient, `>` too high, `<` too low; `+` has a hint.
    const MATRIX: &str = "
        bfloat16 activations, wide output | BFLOAT16 BFLOAT16 BFLOAT16 | =+ <+ <+ <+
        bfloat16 activations, wide output | BFLOAT16 BFLOAT8_B BFLOAT8_B | =+ <+ <+ <+
        bfloat16 activations, wide output | BFLOAT16 BFLOAT4_B FLOAT32 | =+ <+ <+ <+
        bfloat16 activations, 4-bit output | BFLOAT16 BFLOAT16 BFLOAT4_B | >+ >+ =+ <+
        bfloat16 activations, 4-bit output | BFLOAT16 BFLOAT4_B BFLOAT4_B | >+ >+ =+ <+
        wide weights and output | BFLOAT8_B BFLOAT8_B BFLOAT16 | >+ >+ = <+
        wide weights and output | FLOAT32 BFLOAT16 BFLOAT8_B | >+ >+ = <+
        wide weights, 4-bit output | BFLOAT8_B BFLOAT8_B BFLOAT4_B | >+ >+ =+ <+
        wide weights, 4-bit output | BFLOAT4_B FLOAT32 BFLOAT4_B | >+ >+ =+ <+
        4-bit weights | BFLOAT8_B BFLOAT4_B BFLOAT16 | >+ >+ >+ =
        4-bit weights | BFLOAT4_B BFLOAT4_B BFLOAT4_B | >+ >+ >+ =";

    #[test]
    fn verdicts_follow_from_bits_of_the_mantissas() {
        for row in MATRIX.trim().lines() {
            let cells: Vec<Vec<&str>> =
                row.split('|').map(|cell| cell.split_whitespace().collect()).collect();
            let (datatypes, expected) = (&cells[1], &cells[2]);
            for (fidelity, expected) in ["HiFi4", "HiFi3", "HiFi2", "LoFi"].into_iter().zip(expected) {
                let found = fidelity_verdict(fidelity, datatypes[0], datatypes[1], datatypes[2]).unwrap();
                let sign = match found.verdict {
                    Verdict::Sufficient => "=",
                    Verdict::TooHigh => ">",
                    Verdict::TooLow => "<",
                    other => panic!("{other:?}"),
                };
                let found = format!("{sign}{}", if found.hint.is_some() { "+" } else { "" });
                assert_eq!(&found, expected, "{fidelity} of {row}");
            }
        }
    }

    #[test]
    fn integers_come_before_unknown_types_and_both_before_the_fidelity() {
        let integers = fidelity_verdict("", "NEW", "UINT16", "BFLOAT16").unwrap();
        assert_eq!(integers.verdict, Verdict::NotApplicable);
        let unknown = fidelity_verdict("", "BFLOAT16", "NEW", "NEWER").unwrap();
        assert_eq!(unknown.hint, Some(FidelityHint::UnknownDatatype("NEW".to_owned())));
        assert_eq!(unknown.verdict, Verdict::Unknown);
        assert_eq!(fidelity_verdict("HiFi5", "BFLOAT16", "BFLOAT16", "BFLOAT16"), None);
    }

    #[test]
    fn hints_are_those_of_the_row() {
        let hint = |fidelity, activations, weights, output| {
            fidelity_verdict(fidelity, activations, weights, output).and_then(|found| found.hint)
        };
        let (bf16, bfp8, bfp4) = ("BFLOAT16", "BFLOAT8_B", "BFLOAT4_B");
        assert_eq!(hint("HiFi4", bf16, bf16, bf16), Some(FidelityHint::Hifi2DropsOneActivationBit));
        assert_eq!(hint("HiFi2", bf16, bfp8, bf16), Some(FidelityHint::Hifi4ForFullPrecision));
        assert_eq!(hint("LoFi", bf16, bf16, bf16), Some(FidelityHint::LofiIsTooCoarse));
        assert_eq!(hint("LoFi", bf16, bf16, bfp4), Some(FidelityHint::Hifi2ForManyAccumulations));
        assert_eq!(hint("HiFi3", bfp8, bfp8, bfp8), Some(FidelityHint::Hifi2EnoughForBfp8));
        assert_eq!(hint("LoFi", bfp8, bfp8, bfp8), Some(FidelityHint::LofiDropsTwoWeightBits));
        assert_eq!(hint("LoFi", bfp8, bfp8, bfp4), Some(FidelityHint::Hifi2SlightlyBetter));
        assert_eq!(hint("HiFi2", bfp8, bfp4, bfp8), Some(FidelityHint::LofiEnoughForBfp4Weights));
    }
}
