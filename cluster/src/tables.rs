//! The tables of a job as stock Parquet listing tables.
//!
//! Each table lists its files one by one: a glob is lost on the way to a Ballista scheduler, which would then read all
//! tables of the folder as one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::error::Result;
use multi_rank::{Holds, JobFolder, TableShape, table_shapes};
use url::Url;

use crate::error::Error;

/// The tables of a folder, each with its files.
pub(crate) struct JobTables {
    /// The folder, with the root of the file system at its beginning.
    pub(crate) folder: PathBuf,
    /// Number of recordings, each of which has a row in the table `rank`.
    pub(crate) recordings: usize,
    tables: Vec<(TableShape, Vec<ListingTableUrl>)>,
}

impl JobTables {
    /// Lists the tables of a job. All its ranks must be readable: an answer that lacks some would be wrong.
    pub(crate) fn find(folder: &Path) -> Result<Self, Error> {
        if !folder.is_dir() {
            return Err(Error::NoFolder { path: folder.to_owned() });
        }
        let io = |source| multi_rank::Error::Io { path: folder.to_owned(), source };
        let absolute = std::path::absolute(folder).map_err(io)?;
        let job = JobFolder::open(&absolute)?;
        if let Some((path, why)) = job.stale.first() {
            return Err(Error::Stale { path: path.clone(), why: why.clone() });
        }
        if let Some(path) = job.outdated.first() {
            return Err(Error::Outdated { path: path.clone(), folder: folder.to_owned() });
        }
        let job = job.with_ranks()?;
        let with_files = |shape: TableShape| {
            let files = job.files_of(shape.name);
            let files = files.iter().map(|file| listed(file)).collect::<Result<_, _>>()?;
            Ok((shape, files))
        };
        let mut tables: Vec<(TableShape, Vec<ListingTableUrl>)> =
            table_shapes()?.into_iter().map(with_files).collect::<Result<_, Error>>()?;
        // Some are made on request.
        tables.retain(|(_, files)| !files.is_empty());
        Ok(JobTables { folder: absolute, recordings: job.ranks().len(), tables })
    }

    /// The tables by name.
    pub(crate) fn tables(&self) -> impl Iterator<Item = Result<(&'static str, Arc<ListingTable>)>> {
        self.tables.iter().map(|(shape, files)| {
            let options = ListingOptions::new(Arc::new(ParquetFormat::new()));
            let config = ListingTableConfig::new_with_multi_paths(files.clone())
                .with_listing_options(options)
                .with_schema(Arc::new(schema(shape)));
            Ok((shape.name, Arc::new(ListingTable::try_new(config)?)))
        })
    }
}

/// A file for a listing table. Characters that stand for others in a pattern stand for themselves.
fn listed(file: &Path) -> Result<ListingTableUrl, Error> {
    if !file.is_file() {
        return Err(Error::MissingFile { path: file.to_owned() });
    }
    let wrong = || Error::Path { path: file.to_owned() };
    let url = Url::from_file_path(file).map_err(|()| wrong())?;
    ListingTableUrl::try_new(url, None).map_err(|_| wrong())
}

fn schema(shape: &TableShape) -> Schema {
    let field = |column: &multi_rank::ColumnShape| {
        let holds = match column.holds {
            Holds::Integers => DataType::Int64,
            Holds::Texts => DataType::Utf8,
        };
        Field::new(&column.name, holds, column.may_be_empty)
    };
    Schema::new(shape.columns.iter().map(field).collect::<Vec<_>>())
}
