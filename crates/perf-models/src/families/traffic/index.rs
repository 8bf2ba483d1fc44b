//! Selection by index, gather, scatter and sorting: indices and the elements that they name, not the tables around
//! them.

use super::{
    OpCall, OpGroup, Read, Tensor, axis, count, elements_beside, is_in_place, like, movement, noted, op,
    per_result, plain, tensor,
};
use crate::recorded::Assumptions;
use crate::tensor::elements;
use crate::{Category, Family, Undefined};

pub(in crate::families) const GROUPS: &[OpGroup] = &[OpGroup::ours(
    Family::TensorTraffic,
    Category::SortIndex,
    &[
        op("aten::index_select", index_select),
        op("aten::gather", gather),
        op("aten::take", take),
        op("aten::index", selection),
        op("aten::masked_select", selection),
        op("aten::nonzero", selection),
        op("aten::scatter", |call| scatter(call, Destination::Replaced)),
        op("aten::scatter_", |call| scatter(call, Destination::Replaced)),
        op("aten::scatter_add", |call| scatter(call, Destination::Changed)),
        op("aten::scatter_add_", |call| scatter(call, Destination::Changed)),
        op("aten::scatter_reduce", |call| scatter(call, Destination::Changed)),
        op("aten::scatter_reduce_", |call| scatter(call, Destination::Changed)),
        op("aten::index_add", |call| rows_at(call, Destination::Changed)),
        op("aten::index_add_", |call| rows_at(call, Destination::Changed)),
        op("aten::index_copy", |call| rows_at(call, Destination::Replaced)),
        op("aten::index_copy_", |call| rows_at(call, Destination::Replaced)),
        op("aten::index_fill", index_fill),
        op("aten::index_fill_", index_fill),
        op("aten::index_put", |call| index_put(call, 3)),
        op("aten::index_put_", |call| index_put(call, 3)),
        op("aten::_index_put_impl_", |call| index_put(call, 3)),
        op("aten::sort", sort),
        op("aten::topk", topk),
        op("aten::searchsorted", |call| search(call, 1)),
        op("aten::bucketize", |call| search(call, 0)),
    ],
)];

/// What becomes of the elements that indices name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    /// They are written.
    Replaced,
    /// They are read, too: something is added to them.
    Changed,
}

/// As many elements of a tensor's type.
fn moved(elements: f64, tensor: &Tensor) -> Tensor {
    // Conversion saturates.
    Tensor::new([elements as u64], tensor.element_type.clone())
}

/// `index_select(self, dim, index)`: a slice for each index.
fn index_select(call: &OpCall<'_>) -> Read {
    let (table, index) = (call.tensor(0)?, call.tensor(2)?);
    let slices = match table.shape.is_empty() {
        true => index.elements(),
        false => index.elements() * elements_beside(&table.shape, axis(call, 1, &table.shape)?),
    };
    let slices = moved(slices, &table);
    plain(Ok(movement([index, slices.clone()], [slices])))
}

/// `gather(self, dim, index)`: an element for each index.
fn gather(call: &OpCall<'_>) -> Read {
    let (table, index) = (call.tensor(0)?, call.tensor(2)?);
    let named = like(&index, &table.element_type);
    plain(Ok(movement([index, named.clone()], [named])))
}

/// `take(self, index)`: the same, without a dimension.
fn take(call: &OpCall<'_>) -> Read {
    let (table, index) = (call.tensor(0)?, call.tensor(1)?);
    let named = like(&index, &table.element_type);
    plain(Ok(movement([index, named.clone()], [named])))
}

/// The size of the result depends on what no recording has: the shapes of a list of indices, the elements of a mask.
fn selection(_: &OpCall<'_>) -> Read {
    Err(Undefined::no_formula("the number of selected elements was not recorded"))
}

/// What an operator that is not in place reads and writes beside its own work: it changes a copy of its first operand.
fn copied(call: &OpCall<'_>, table: &Tensor) -> Vec<Tensor> {
    if is_in_place(call) { Vec::new() } else { vec![table.clone()] }
}

/// Elements or slices of `source` that go to the places in `table` that `index` names.
fn placed(
    call: &OpCall<'_>,
    (table, index): (Tensor, Option<Tensor>),
    (source, named): (Option<Tensor>, Tensor),
    destination: Destination,
) -> super::TensorTraffic {
    let copy = copied(call, &table);
    let changed = (destination == Destination::Changed).then(|| named.clone());
    let operations = if changed.is_some() { named.elements() } else { 0.0 };
    let read = copy.iter().cloned().chain(index).chain(source).chain(changed).collect::<Vec<_>>();
    let written = copy.into_iter().chain([named]).collect::<Vec<_>>();
    super::TensorTraffic { flops: operations, ..movement(read, written) }
}

/// `scatter(self, dim, index, src)`: an element of `src`, or a number, to each place.
fn scatter(call: &OpCall<'_>, destination: Destination) -> Read {
    let (table, index) = (call.tensor(0)?, call.tensor(2)?);
    let source = tensor(call, 3).map(|source| like(&index, &source.element_type));
    let named = like(&index, &table.element_type);
    plain(Ok(placed(call, (table, Some(index)), (source, named), destination)))
}

/// `index_add(self, dim, index, source)`: a slice of `source` to each place.
fn rows_at(call: &OpCall<'_>, destination: Destination) -> Read {
    let (table, index, source) = (call.tensor(0)?, call.tensor(2)?, call.tensor(3)?);
    let named = like(&source, &table.element_type);
    plain(Ok(placed(call, (table, Some(index)), (Some(source), named), destination)))
}

/// `index_fill(self, dim, index, value)`: a number to each slice.
fn index_fill(call: &OpCall<'_>) -> Read {
    let (table, index) = (call.tensor(0)?, call.tensor(2)?);
    let slices = index.elements() * elements_beside(&table.shape, axis(call, 1, &table.shape)?);
    let named = moved(slices, &table);
    plain(Ok(placed(call, (table, Some(index)), (None, named), Destination::Replaced)))
}

/// `index_put(self, indices, values, accumulate)`: the list of indices is not recorded. A single value may be written
/// to any number of places.
fn index_put(call: &OpCall<'_>, accumulate: usize) -> Read {
    let (table, values) = (call.tensor(0)?, call.tensor(2)?);
    if values.elements() == 1.0 && table.elements() != 1.0 {
        return Err(Undefined::arguments("the number of assigned elements was not recorded"));
    }
    let destination = match call.concrete_flag(accumulate).unwrap_or(false) {
        true => Destination::Changed,
        false => Destination::Replaced,
    };
    let named = like(&values, &table.element_type);
    let traffic = placed(call, (table, None), (Some(values), named), destination);
    noted(Ok(traffic), Assumptions(vec!["excluding the indices, which were not recorded".to_owned()]))
}

/// `sort(self, dim, descending)`, `sort.stable(self, stable, dim, descending)`: values and their places.
fn sort(call: &OpCall<'_>) -> Read {
    let input = call.tensor(0)?;
    let places = like(&input, "long int");
    plain(Ok(movement([input.clone()], [input, places])))
}

/// `topk(self, k, dim, largest, sorted)`: a comparison for each element.
fn topk(call: &OpCall<'_>) -> Read {
    let input = call.tensor(0)?;
    let rows = match input.shape.is_empty() {
        true => 1.0,
        // The last dimension where none is recorded.
        false => {
            let last = input.shape.len() - 1;
            let along = if call.written_value(2).is_empty() { last } else { axis(call, 2, &input.shape)? };
            elements_beside(&input.shape, along)
        }
    };
    let values = moved(rows * count(call, 1)? as f64, &input);
    let places = like(&values, "long int");
    let compared = input.elements();
    plain(Ok(super::TensorTraffic { flops: compared, ..movement([input], [values, places]) }))
}

/// The place of each value in a sorted row: the values are read and their places written; the row stays in cache.
fn search(call: &OpCall<'_>, values: usize) -> Read {
    let (values, row) = (call.tensor(values)?, call.tensor(1 - values)?);
    let places = like(&values, "long int");
    let steps = elements(&row.shape[row.shape.len().saturating_sub(1)..]).max(2.0).log2().ceil();
    plain(Ok(per_result(steps, [values, row], [places])))
}
