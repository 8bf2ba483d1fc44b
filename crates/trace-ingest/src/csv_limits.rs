//! How large a row of a CSV file may be. Without a limit a file without line ends, or with a quotation mark that is
//! never closed, would be taken into memory as one row.

use std::io::{self, Read};
use std::path::Path;

use ::csv::{ByteRecord, Reader};

use crate::error::IngestError;

/// Longest row, in bytes. The longest that profilers write, with a kernel's name or an operation's attributes in it,
/// are a hundred times shorter.
const LONGEST_ROW: u64 = 4 << 20;

/// Most columns of a table; as many as a worksheet has. Profilers write a few hundred.
const MOST_COLUMNS: usize = 16_384;

/// Text that ends with an error when a row in it is too long.
pub(crate) struct LimitedRows<R> {
    source: R,
    /// Bytes read since the last row ended.
    bytes: u64,
    exceeded: bool,
}

impl<R: Read> LimitedRows<R> {
    pub(crate) fn new(source: R) -> Self {
        LimitedRows { source, bytes: 0, exceeded: false }
    }
}

impl<R: Read> Read for LimitedRows<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes > LONGEST_ROW {
            self.exceeded = true;
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, too_long()));
        }
        let read = self.source.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// The message about a row that is too long.
pub(crate) fn too_long() -> String {
    format!("a row does not end within {} MiB", LONGEST_ROW >> 20)
}

/// Whether reading broke off because a row is too long.
pub(crate) fn is_too_long<R: Read>(reader: &Reader<LimitedRows<R>>) -> bool {
    reader.get_ref().exceeded
}

/// Reads the header.
///
/// # Errors
/// When it cannot be read or is too large.
pub(crate) fn read_header<R: Read>(
    path: &Path,
    reader: &mut Reader<LimitedRows<R>>,
) -> Result<ByteRecord, IngestError> {
    let too_long = |limit| IngestError::TooLong { path: path.to_path_buf(), what: "the header", limit };
    match reader.byte_headers().cloned() {
        Ok(header) if header.len() > MOST_COLUMNS => Err(too_long(format!("{MOST_COLUMNS} columns"))),
        Ok(header) => {
            reader.get_mut().bytes = 0;
            Ok(header)
        }
        Err(_) if is_too_long(reader) => Err(too_long(format!("{} MiB", LONGEST_ROW >> 20))),
        Err(error) => Err(IngestError::Io { path: path.to_path_buf(), source: error.into() }),
    }
}

/// Reads the next row; `false` at the end of the text.
///
/// # Errors
/// Those of the source, and when the row is too long, as [`is_too_long`] tells.
pub(crate) fn read_row<R: Read>(
    reader: &mut Reader<LimitedRows<R>>,
    row: &mut ByteRecord,
) -> Result<bool, ::csv::Error> {
    let more = reader.read_byte_record(row)?;
    reader.get_mut().bytes = 0;
    Ok(more)
}
