//! Lookup in tables of embeddings, and what [FBGEMM] does around it in recommendation models. Rows that are looked up
//! count, not the tables; a row that is looked up twice counts twice.
//!
//! [FBGEMM]: https://docs.pytorch.org/FBGEMM/

use super::{OpCall, OpGroup, Read, Tensor, TensorTraffic, count, like, movement, noted, op, plain, tensor};
use crate::recorded::Assumptions;
use crate::tensor::elements;
use crate::{Category, Family, Undefined};

/// The lookup of tables with an optimizer, and its node of the backward pass.
macro_rules! split_lookups {
    ($($optimizer:literal)+) => {
        &[$(
            op(concat!("fbgemm::split_embedding_codegen_lookup_", $optimizer, "_function"), split_lookup),
            op(concat!("torch::autograd::CppNode<SplitLookupFunction_", $optimizer, "_Op>"), split_lookup_backward)
                .shaped_as(concat!("fbgemm::split_embedding_codegen_lookup_", $optimizer, "_function")),
        )+]
    };
}

pub(in crate::families) const GROUPS: &[OpGroup] = &[
    OpGroup::ours(
        Family::TensorTraffic,
        Category::Embedding,
        &[
            op("aten::embedding", embedding),
            op("aten::embedding_dense_backward", dense_backward),
            op("aten::_embedding_bag", bag),
            op("aten::_embedding_bag_forward_only", bag),
            op("fbgemm::permute_pooled_embs", permuted),
            op("fbgemm::permute_pooled_embs_auto_grad", permuted),
            op(
                "torch::autograd::CppNode<fbgemm_gpu::PermutePooledEmbsFunction<&fbgemm_gpu::permute_pooled_embs_gpu> >",
                permuted,
            ),
        ],
    ),
    OpGroup::ours(
        Family::TensorTraffic,
        Category::Embedding,
        split_lookups!("sgd" "adam" "adagrad" "rowwise_adagrad" "lamb" "lars_sgd" "partial_rowwise_adam" "none"),
    ),
    OpGroup::ours(
        Family::TensorTraffic,
        Category::SortIndex,
        &[
            op("fbgemm::permute_sparse_data", permuted_lists),
            op("fbgemm::permute_1D_sparse_data", permuted_lists),
            op("fbgemm::permute_2D_sparse_data", permuted_lists),
            op("fbgemm::permute_sparse_features", permuted_lists),
            op("fbgemm::block_bucketize_sparse_features", bucketized),
            op("fbgemm::bounds_check_indices", bounds_check),
            op("fbgemm::asynchronous_complete_cumsum", |call| sum_of_lengths(call, 1.0)),
            op("fbgemm::asynchronous_inclusive_cumsum", |call| sum_of_lengths(call, 0.0)),
            op("fbgemm::asynchronous_exclusive_cumsum", |call| sum_of_lengths(call, 0.0)),
        ],
    ),
    OpGroup::ours(
        Family::TensorTraffic,
        Category::GroupQuant,
        &[
            op("fbgemm::FloatToFP8RowwiseQuantized", rows_to_fp8),
            op("fbgemm::FP8RowwiseQuantizedToFloat", rows_from_fp8),
            op("fbgemm::FloatToHFP8Quantized", |call| converted(call, "unsigned char")),
            op("fbgemm::HFP8QuantizedToFloat", |call| converted(call, "float")),
        ],
    ),
];

/// Rows of the last dimension of a table, one for each index.
fn rows(table: &Tensor, indices: &Tensor) -> Tensor {
    let width = table.shape.last().copied().unwrap_or(1);
    let shape = [indices.shape.as_slice(), &[width]].concat();
    Tensor::new(shape, table.element_type.clone())
}

/// `embedding(weight, indices, …)`: a row read and written for each index.
fn embedding(call: &OpCall<'_>) -> Read {
    let (table, indices) = (call.tensor(0)?, call.tensor(1)?);
    let rows = rows(&table, &indices);
    plain(Ok(movement([indices, rows.clone()], [rows])))
}

/// `embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq)`: the gradient is as
/// large as the table and written whole, most of it as zeros; one addition for each element of the incoming gradient.
fn dense_backward(call: &OpCall<'_>) -> Read {
    let (gradient, indices) = (call.tensor(0)?, call.tensor(1)?);
    let width = gradient.shape.last().copied().unwrap_or(1);
    let table = Tensor::new([count(call, 2)?, width], gradient.element_type.clone());
    let flops = gradient.elements();
    plain(Ok(TensorTraffic { read: vec![gradient, indices], written: vec![table], flops }))
}

/// `_embedding_bag(weight, indices, offsets, …)`: the rows of each bag become one; an addition for each element read.
fn bag(call: &OpCall<'_>) -> Read {
    let (table, indices, offsets) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let (read, written) = (rows(&table, &indices), rows(&table, &offsets));
    let flops = read.elements();
    plain(Ok(TensorTraffic { read: vec![indices, offsets, read], written: vec![written], flops }))
}

/// `permute_pooled_embs(pooled_embs, …)`, and the gradient of the same shape on its way back: columns change places.
fn permuted(call: &OpCall<'_>) -> Read {
    let pooled = call.tensor(0)?;
    plain(Ok(movement([pooled.clone()], [pooled])))
}

/// The tables and requests of `split_embedding_codegen_lookup_…_function(placeholder, dev_weights, uvm_weights,
/// lxu_cache_weights, weights_placements, weights_offsets, D_offsets, total_D, max_D, hash_size_cumsum,
/// total_hash_size_bits, indices, offsets, …)`.
struct SplitTables {
    indices: Tensor,
    offsets: Tensor,
    /// Type of the tables' elements.
    element_type: String,
    tables: f64,
    /// Elements of a row of each table, added up.
    total_width: Option<f64>,
}

impl SplitTables {
    fn read(call: &OpCall<'_>) -> Result<Self, Undefined> {
        let tables = call.dimension(6, 0)?.saturating_sub(1);
        if tables == 0 {
            return Err(Undefined::arguments("Input Dims[6] lists no tables"));
        }
        Ok(SplitTables {
            indices: call.tensor(11)?,
            offsets: call.tensor(12)?,
            element_type: call.type_of(1)?.to_owned(),
            tables: tables as f64,
            total_width: count(call, 7).ok().map(|width| width as f64),
        })
    }

    /// Requests of each table.
    fn batch(&self) -> f64 {
        ((self.offsets.elements() - 1.0) / self.tables).max(0.0)
    }

    /// All rows that indices name: tables are taken to be asked alike.
    fn rows(&self, total_width: f64) -> Tensor {
        // Conversion saturates.
        let elements = self.indices.elements() * total_width / self.tables;
        Tensor::new([elements as u64], self.element_type.clone())
    }
}

/// What the recording does not say of a lookup.
fn lookups_alike() -> Assumptions {
    Assumptions(vec![
        "assumed equal numbers of lookups in narrow and wide tables, and no cached rows".to_owned(),
    ])
}

/// One addition for each element that is looked up; a row of all tables is written for each request.
fn split_lookup(call: &OpCall<'_>) -> Read {
    let tables = SplitTables::read(call)?;
    let width = tables.total_width.ok_or_else(|| {
        Undefined::arguments("Concrete Inputs[7], the total width of all tables, was not recorded")
    })?;
    let rows = tables.rows(width);
    let results = Tensor::new([(tables.batch() * width) as u64], "float");
    let flops = rows.elements();
    let read = vec![tables.indices, tables.offsets, rows];
    noted(Ok(TensorTraffic { read, written: vec![results], flops }), lookups_alike())
}

/// `(grad_output)`: the gradient of each request is added to the rows that it looked up, which are read and written,
/// and the optimizer changes them: two operations for each element, its own state left out.
fn split_lookup_backward(call: &OpCall<'_>) -> Read {
    let gradient = call.tensor(0)?;
    let forward = call.forward.ok_or_else(|| {
        Undefined::arguments("the forward lookup is not linked, so its indices are unknown")
    })?;
    let tables = SplitTables::read(forward)?;
    let &[_, width] = gradient.shape.as_slice() else {
        return Err(Undefined::arguments("Input Dims[0] is not a matrix"));
    };
    let rows = tables.rows(width as f64);
    let flops = 2.0 * rows.elements();
    let read = vec![gradient, tables.indices, tables.offsets, rows.clone()];
    noted(Ok(TensorTraffic { read, written: vec![rows], flops }), lookups_alike())
}

/// `permute_2D_sparse_data(permute, lengths, indices, weights, permuted_lengths_sum)`: the lists of features change
/// places; `lengths` has a row for each feature, of which any number may be taken.
fn permuted_lists(call: &OpCall<'_>) -> Read {
    let (places, lengths, indices) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let mut assumptions = Assumptions::default();
    let features = lengths.shape.first().copied().unwrap_or(1).max(1) as f64;
    // Conversions saturate.
    let taken = |elements: f64| (elements * places.elements() / features) as u64;
    let moved = match count(call, 4) {
        Ok(count) => count,
        Err(_) => {
            assumptions.0.push("assumed lists of equal lengths".to_owned());
            taken(indices.elements())
        }
    };
    let lengths_moved = Tensor::new([taken(lengths.elements())], lengths.element_type.clone());
    let weights = tensor(call, 3);
    let values: Vec<Tensor> = std::iter::once(&indices)
        .chain(&weights)
        .map(|values| Tensor::new([moved], values.element_type.clone()))
        .collect();
    let read = [places, lengths_moved.clone()].into_iter().chain(values.clone()).collect::<Vec<_>>();
    let written = std::iter::once(lengths_moved).chain(values).collect::<Vec<_>>();
    noted(Ok(movement(read, written)), assumptions)
}

/// `block_bucketize_sparse_features(lengths, indices, bucketize_pos, sequence, block_sizes, my_size, weights)`:
/// indices go to the ranks that have their rows, with lengths for each rank.
fn bucketized(call: &OpCall<'_>) -> Read {
    let (lengths, indices) = (call.tensor(0)?, call.tensor(1)?);
    let ranks = count(call, 5)?;
    let new_lengths = Tensor::new([(lengths.elements() * ranks as f64) as u64], lengths.element_type.clone());
    let flag = |index| call.concrete_flag(index).unwrap_or(false);
    let weights = tensor(call, 6);
    let places = [2, 3].into_iter().filter(|&index| flag(index)).map(|_| indices.clone());
    let written: Vec<Tensor> =
        [new_lengths, indices.clone()].into_iter().chain(weights.clone()).chain(places).collect();
    let read: Vec<Tensor> = [lengths, indices].into_iter().chain(weights).collect();
    plain(Ok(movement(read, written)))
}

/// `bounds_check_indices(rows_per_table, indices, offsets, …)`: a comparison for each index; wrong ones alone are
/// written.
fn bounds_check(call: &OpCall<'_>) -> Read {
    let (indices, offsets) = (call.tensor(1)?, call.tensor(2)?);
    let flops = indices.elements();
    plain(Ok(TensorTraffic { flops, ..movement([indices, offsets], []) }))
}

/// `asynchronous_complete_cumsum(lengths)`: as many sums, and `more` at the front.
fn sum_of_lengths(call: &OpCall<'_>, more: f64) -> Read {
    let lengths = call.tensor(0)?;
    let sums = Tensor::new([(lengths.elements() + more) as u64], lengths.element_type.clone());
    let flops = lengths.elements();
    plain(Ok(TensorTraffic { flops, ..movement([lengths], [sums]) }))
}

/// Bytes that a row of FP8 numbers has for its scale.
const SCALE_BYTES: u64 = 8;
/// Numbers of a row are filled up to a multiple of this.
const ROW_MULTIPLE: u64 = 4;

/// `FloatToFP8RowwiseQuantized(input, forward)`: a byte for each number, and a scale for each row; the largest number
/// of a row, a product and the rounding.
fn rows_to_fp8(call: &OpCall<'_>) -> Read {
    let input = call.tensor(0)?;
    let mut output = like(&input, "unsigned char");
    if let Some(width) = output.shape.last_mut() {
        *width = width.next_multiple_of(ROW_MULTIPLE).saturating_add(SCALE_BYTES);
    }
    let flops = 3.0 * input.elements();
    plain(Ok(TensorTraffic { read: vec![input], written: vec![output], flops }))
}

/// `FP8RowwiseQuantizedToFloat(input, forward)`: the other way, a product for each number.
fn rows_from_fp8(call: &OpCall<'_>) -> Read {
    let input = call.tensor(0)?;
    let mut output = like(&input, "float");
    if let Some(width) = output.shape.last_mut() {
        *width = width.saturating_sub(SCALE_BYTES);
    }
    let flops = elements(&output.shape);
    plain(Ok(TensorTraffic { read: vec![input], written: vec![output], flops }))
}

/// Each number in another type.
fn converted(call: &OpCall<'_>, element_type: &str) -> Read {
    let input = call.tensor(0)?;
    let output = like(&input, element_type);
    let flops = input.elements();
    plain(Ok(TensorTraffic { read: vec![input], written: vec![output], flops }))
}

#[cfg(test)]
mod tests {
    use super::super::recorded_call::{Input, RecordedCall, figures};
    use super::*;
    use crate::model;

    const LONG: &str = "long int";

    #[test]
    fn lookups_in_split_tables_have_the_rows_of_their_indices() {
        // Two tables, of 32 and 96 columns in FP16; a batch of ten requests, 600 indices.
        let mut inputs: Vec<Input<'_>> = vec![(&[], ""); 13];
        inputs[1] = (&[100_000], "c10::Half");
        inputs[6] = (&[3], "int");
        inputs[11] = (&[600], LONG);
        inputs[12] = (&[21], LONG);
        let mut concrete = vec![""; 13];
        concrete[7] = "128";
        let forward = RecordedCall::new(&inputs, &concrete);
        let name = "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function";
        let forward = forward.call(name);
        let rows = 600.0 * 64.0;
        assert_eq!(figures(&forward), Ok((rows, 8.0 * 621.0 + 2.0 * rows + 4.0 * 10.0 * 128.0)));

        let backward = RecordedCall::new(&[(&[10, 128], "float")], &[]);
        let node = "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>";
        let backward_figures = figures(&OpCall { forward: Some(&forward), ..backward.call(node) });
        assert_eq!(backward_figures, Ok((2.0 * rows, 4.0 * 1280.0 + 8.0 * 621.0 + 2.0 * 2.0 * rows)));
        assert!(model(&backward.call(node)).is_err());
        let without_width = RecordedCall::new(&inputs, &[]);
        assert!(model(&without_width.call(name)).is_err());
    }
}
