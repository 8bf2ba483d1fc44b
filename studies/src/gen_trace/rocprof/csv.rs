//! `--output-format csv`: a file per kind of records, texts in quotes.

use std::fs::File;
use std::path::Path;

use csv::{QuoteStyle, Writer, WriterBuilder};

use super::kernels::COUNTERS;
use super::run::{Dispatch, Domain, Run};

type Written = Result<(), csv::Error>;

/// Writes the files into a directory; each begins with the number of the process.
pub(super) fn write(run: &Run, directory: &Path) -> Written {
    let table = |suffix: &str, columns: &[&str]| -> Result<Table, csv::Error> {
        let path = directory.join(format!("{}_{suffix}.csv", run.process));
        let mut writer = WriterBuilder::new().quote_style(QuoteStyle::NonNumeric).from_path(path)?;
        writer.write_record(columns)?;
        Ok(Table(writer))
    };
    agents(run, table("agent_info", &AGENT_COLUMNS)?)?;
    kernels(run, table("kernel_trace", &KERNEL_COLUMNS)?)?;
    for domain in Domain::ALL {
        calls(run, domain, table(&format!("{}_trace", domain.list()), &CALL_COLUMNS)?)?;
    }
    copies(run, table("memory_copy_trace", &COPY_COLUMNS)?)?;
    allocations(run, table("memory_allocation_trace", &ALLOCATION_COLUMNS)?)?;
    counters(run, table("counter_collection", &COUNTER_COLUMNS)?)
}

struct Table(Writer<File>);

impl Table {
    fn row<const N: usize>(&mut self, cells: [&dyn ToString; N]) -> Written {
        self.0.write_record(cells.map(ToString::to_string))
    }

    fn end(mut self) -> Written {
        Ok(self.0.flush()?)
    }
}

const AGENT_COLUMNS: [&str; 15] = [
    "Node_Id",
    "Logical_Node_Id",
    "Agent_Type",
    "Cu_Count",
    "Simd_Per_Cu",
    "Max_Waves_Per_Simd",
    "Wave_Front_Size",
    "Lds_Size_In_Kb",
    "Num_Xcc",
    "Max_Engine_Clk_Fcompute",
    "Logical_Node_Type_Id",
    "Name",
    "Vendor_Name",
    "Product_Name",
    "Model_Name",
];

fn agents(run: &Run, mut table: Table) -> Written {
    for agent in &run.agents {
        let kind = if agent.is_gpu { "GPU" } else { "CPU" };
        let gpu_value = |value: u64| if agent.is_gpu { value } else { 0 };
        table.row([
            &agent.node,
            &agent.node,
            &kind,
            &gpu_value(304),
            &gpu_value(4),
            &gpu_value(8),
            &gpu_value(64),
            &gpu_value(64),
            &gpu_value(8),
            &gpu_value(2_100),
            &agent.ordinal,
            &agent.name,
            &agent.vendor,
            &agent.product,
            &"",
        ])?;
    }
    table.end()
}

const KERNEL_COLUMNS: [&str; 22] = [
    "Kind",
    "Agent_Id",
    "Queue_Id",
    "Stream_Id",
    "Thread_Id",
    "Dispatch_Id",
    "Kernel_Id",
    "Kernel_Name",
    "Correlation_Id",
    "Start_Timestamp",
    "End_Timestamp",
    "LDS_Block_Size",
    "Scratch_Size",
    "VGPR_Count",
    "Accum_VGPR_Count",
    "SGPR_Count",
    "Workgroup_Size_X",
    "Workgroup_Size_Y",
    "Workgroup_Size_Z",
    "Grid_Size_X",
    "Grid_Size_Y",
    "Grid_Size_Z",
];

fn kernels(run: &Run, mut table: Table) -> Written {
    for (at, dispatch) in run.dispatches.iter().enumerate() {
        let Dispatch { symbol, queue, stream, thread, correlation, start, end, grid, .. } = dispatch;
        table.row([
            &"KERNEL_DISPATCH",
            &label(run, dispatch.agent),
            queue,
            stream,
            thread,
            &(at + 1),
            &symbol.id,
            &symbol.formatted(),
            correlation,
            start,
            end,
            &symbol.lds,
            &symbol.scratch,
            &symbol.vgprs,
            &symbol.accum_vgprs,
            &symbol.sgprs,
            &symbol.workgroup[0],
            &symbol.workgroup[1],
            &symbol.workgroup[2],
            &grid[0],
            &grid[1],
            &grid[2],
        ])?;
    }
    table.end()
}

const CALL_COLUMNS: [&str; 7] =
    ["Domain", "Function", "Process_Id", "Thread_Id", "Correlation_Id", "Start_Timestamp", "End_Timestamp"];

fn calls(run: &Run, domain: Domain, mut table: Table) -> Written {
    for call in run.calls.iter().filter(|call| call.domain == domain) {
        let (thread, correlation) = (&call.thread, &call.correlation);
        table.row([&domain.kind(), &call.name, &run.process, thread, correlation, &call.start, &call.end])?;
    }
    table.end()
}

const COPY_COLUMNS: [&str; 8] = [
    "Kind",
    "Direction",
    "Stream_Id",
    "Source_Agent_Id",
    "Destination_Agent_Id",
    "Correlation_Id",
    "Start_Timestamp",
    "End_Timestamp",
];

fn copies(run: &Run, mut table: Table) -> Written {
    for copy in &run.copies {
        table.row([
            &"MEMORY_COPY",
            &copy.direction.name(),
            &copy.stream,
            &label(run, copy.source),
            &label(run, copy.destination),
            &copy.correlation,
            &copy.start,
            &copy.end,
        ])?;
    }
    table.end()
}

const ALLOCATION_COLUMNS: [&str; 8] = [
    "Kind",
    "Operation",
    "Agent_Id",
    "Allocation_Size",
    "Address",
    "Correlation_Id",
    "Start_Timestamp",
    "End_Timestamp",
];

fn allocations(run: &Run, mut table: Table) -> Written {
    for allocation in &run.allocations {
        table.row([
            &"MEMORY_ALLOCATION",
            &allocation.name(),
            &label(run, allocation.agent),
            &allocation.bytes,
            &format!("{:#x}", allocation.address),
            &allocation.correlation,
            &allocation.start,
            &allocation.end,
        ])?;
    }
    table.end()
}

const COUNTER_COLUMNS: [&str; 19] = [
    "Correlation_Id",
    "Dispatch_Id",
    "Agent_Id",
    "Queue_Id",
    "Process_Id",
    "Thread_Id",
    "Grid_Size",
    "Kernel_Id",
    "Kernel_Name",
    "Workgroup_Size",
    "LDS_Block_Size",
    "Scratch_Size",
    "VGPR_Count",
    "Accum_VGPR_Count",
    "SGPR_Count",
    "Counter_Name",
    "Counter_Value",
    "Start_Timestamp",
    "End_Timestamp",
];

/// A row per dispatch and counter: instances are summed.
fn counters(run: &Run, mut table: Table) -> Written {
    for (at, dispatch) in run.dispatches.iter().enumerate() {
        let Dispatch { symbol, queue, thread, correlation, start, end, grid, .. } = dispatch;
        for (position, counter) in COUNTERS.iter().enumerate() {
            if dispatch.counters.is_empty() {
                continue;
            }
            let value: u64 = dispatch.counters.iter().map(|values| values[position]).sum();
            table.row([
                correlation,
                &(at + 1),
                &label(run, dispatch.agent),
                queue,
                &run.process,
                thread,
                &grid.iter().product::<u64>(),
                &symbol.id,
                &symbol.formatted(),
                &symbol.workgroup.iter().product::<u64>(),
                &symbol.lds,
                &symbol.scratch,
                &symbol.vgprs,
                &symbol.accum_vgprs,
                &symbol.sgprs,
                &counter.name,
                &format!("{value}.000000"),
                start,
                end,
            ])?;
        }
    }
    table.end()
}

/// What records call an agent.
fn label(run: &Run, agent: usize) -> String {
    format!("Agent {}", run.agents[agent].node)
}
