//! A collective of a program: what it exchanges and with whom.

use perf_models::hlo::ArrayShape;

use super::groups::ExchangeGroups;
use super::kind::CollectiveKind;

/// A collective instruction of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveOperation {
    /// Name of the instruction, unique in its program.
    pub name: String,
    /// Kind.
    pub kind: CollectiveKind,
    /// What each device gives.
    pub inputs: Vec<ArrayShape>,
    /// What each device gets.
    pub outputs: Vec<ArrayShape>,
    /// Dimension along which the tensors are split or joined, where there is exactly one.
    pub split_dimension: Option<usize>,
    /// Who exchanges with whom; `None` where the program does not say.
    pub groups: Option<ExchangeGroups>,
    /// Channel that ties the instruction to those of the other devices.
    pub channel: Option<i64>,
}

impl CollectiveOperation {
    /// Bytes that a device gives.
    #[must_use]
    pub fn input_bytes(&self) -> u64 {
        total(&self.inputs)
    }

    /// Bytes that a device gets.
    #[must_use]
    pub fn output_bytes(&self) -> u64 {
        total(&self.outputs)
    }

    /// Bytes that [`CollectiveKind::algorithmic_bytes`] is a function of, for groups of `size`: the shard of a device
    /// for an all-gather, the input for a reduce-scatter, else the output.
    #[must_use]
    pub fn data_bytes(&self, size: usize) -> u64 {
        match self.kind {
            CollectiveKind::AllGather => self.output_bytes() / (size as u64).max(1),
            CollectiveKind::ReduceScatter => self.output_bytes().saturating_mul(size as u64),
            _ => self.output_bytes(),
        }
    }

    /// Size of the message as nccl-tests counts it: the larger of what a device gives and what it gets.
    #[must_use]
    pub fn message_bytes(&self) -> u64 {
        self.input_bytes().max(self.output_bytes())
    }

    /// The outputs cut into as many parts as a group of `size` has devices, along the split dimension if there is one;
    /// outputs that cannot be cut are left out. Its bytes are the size that a text dump's table states, whatever the
    /// kind.
    #[must_use]
    pub fn slices(&self, size: usize) -> Vec<ArrayShape> {
        match self.split_dimension {
            Some(dimension) => {
                self.outputs.iter().filter_map(|output| slice(output, dimension, size)).collect()
            }
            None => self.outputs.clone(),
        }
    }
}

/// Bytes of tensors together; those of a type without a size count nothing.
pub(super) fn total(tensors: &[ArrayShape]) -> u64 {
    tensors.iter().fold(0, |sum, tensor| sum.saturating_add(tensor.bytes().map_or(0, |bytes| bytes as u64)))
}

/// A tensor cut into `parts` along a dimension; `None` where that does not come out even.
fn slice(tensor: &ArrayShape, dimension: usize, parts: usize) -> Option<ArrayShape> {
    let mut slice = tensor.clone();
    let length = slice.dimensions.get_mut(dimension)?;
    let parts = parts as u64;
    if parts == 0 || !length.is_multiple_of(parts) {
        return None;
    }
    *length /= parts;
    Some(slice)
}

#[cfg(test)]
mod tests {
    use perf_models::hlo::ElementType;

    use super::*;

    fn tensor(element_type: ElementType, dimensions: &[u64]) -> ArrayShape {
        ArrayShape { element_type, dimensions: dimensions.to_vec(), ..ArrayShape::default() }
    }

    fn operation(kind: CollectiveKind, input: &[u64], output: &[u64]) -> CollectiveOperation {
        CollectiveOperation {
            name: kind.name().to_owned(),
            kind,
            inputs: vec![tensor(ElementType::F32, input)],
            outputs: vec![tensor(ElementType::F32, output)],
            split_dimension: Some(0),
            groups: ExchangeGroups::parse("{}"),
            channel: Some(1),
        }
    }

    #[test]
    fn data_is_a_shard_for_a_gather_and_the_whole_for_the_others() {
        let cases = [
            (CollectiveKind::AllGather, [2, 8], [8, 8], 64, 256),
            (CollectiveKind::ReduceScatter, [8, 8], [2, 8], 256, 256),
            (CollectiveKind::AllReduce, [8, 8], [8, 8], 256, 256),
            (CollectiveKind::AllToAll, [8, 8], [8, 8], 256, 256),
        ];
        for (kind, input, output, data, message) in cases {
            let operation = operation(kind, &input, &output);
            assert_eq!((operation.data_bytes(4), operation.message_bytes()), (data, message), "{kind:?}");
        }
    }

    #[test]
    fn types_without_a_size_count_nothing() {
        let tensors = [
            tensor(ElementType::S4, &[5]),
            tensor(ElementType::Unknown(17), &[8]),
            tensor(ElementType::F32, &[]),
        ];
        assert_eq!(total(&tensors), 3 + 4);
    }

    #[test]
    fn a_tensor_that_cannot_be_cut_has_no_slice() {
        let matrix = tensor(ElementType::F32, &[6, 4]);
        assert_eq!(slice(&matrix, 0, 4), None);
        assert_eq!(slice(&matrix, 2, 2), None);
        assert_eq!(slice(&matrix, 1, 4).map(|slice| slice.to_string()), Some("f32[6,1]".to_owned()));
    }
}
