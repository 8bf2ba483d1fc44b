//! Bytes of activations and of weights, which may be packed.

use crate::number_size;

/// Bytes per number of a type, and whether they are assumed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Width {
    pub(super) bytes: f64,
    pub(super) assumed: bool,
}

impl Width {
    pub(super) const fn known(bytes: f64) -> Self {
        Self { bytes, assumed: false }
    }

    /// The note on an assumed width of `what`.
    pub(super) fn note(self, what: &str) -> Option<String> {
        self.assumed.then(|| format!("assumed {}-byte {what}", self.bytes))
    }
}

/// Width of an activation; `otherwise` where the type is unknown.
pub(super) fn activation(type_name: &str, otherwise: f64) -> Width {
    match number_size(type_name) {
        Some(bytes) => Width::known(bytes),
        None => Width { bytes: otherwise, assumed: true },
    }
}

/// Width of a weight whose element holds `packed` of them.
///
/// Types of four and eight bits say what a weight takes; whole numbers are containers, whatever they hold.
pub(super) fn weight(type_name: &str, packed: u64) -> Width {
    let container = matches!(
        type_name.to_ascii_lowercase().as_str(),
        "unsigned char" | "signed char" | "short int" | "int" | "unsigned int" | "long int"
    );
    match number_size(type_name) {
        Some(bytes) if container => Width::known(bytes / packed.max(1) as f64),
        Some(bytes) => Width::known(bytes),
        None => Width { bytes: 1.0, assumed: true },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_take_what_their_type_and_packing_say() {
        for (name, packed, bytes, assumed) in [
            ("c10::Float8_e4m3fn", 1, 1.0, false),
            // Eight weights to an element would be a container, which this type is not.
            ("c10::Float8_e4m3fn", 8, 1.0, false),
            ("c10::Float4_e2m1fn_x2", 2, 0.5, false),
            ("FP4", 1, 0.5, false),
            ("unsigned char", 2, 0.5, false),
            ("unsigned char", 1, 1.0, false),
            ("int", 8, 0.5, false),
            ("int", 0, 4.0, false),
            ("c10::BFloat16", 1, 2.0, false),
            ("float", 1, 4.0, false),
            ("", 1, 1.0, true),
        ] {
            assert_eq!(weight(name, packed), Width { bytes, assumed }, "{name} {packed}");
        }
    }

    #[test]
    fn activations_of_unknown_type_are_assumed_and_noted() {
        assert_eq!(activation("c10::Half", 1.0), Width::known(2.0));
        assert_eq!(activation("Float8_e4m3fnuz", 2.0).note("activations"), None);
        let unknown = activation("ScalarList", 2.0);
        assert_eq!(unknown.note("activations").as_deref(), Some("assumed 2-byte activations"));
    }
}
