//! The text of gzip files: members one after the other, each held against its checksum.
//!
//! `flate2` reads gzip, too, and computes the checksum with what inflates; that takes twice the instructions of inflating
//! (benches/README.md). Here `crc32fast` does.

use std::io::{self, BufRead, BufReader, Read};
use std::mem;

use crc32fast::Hasher;
use flate2::bufread::DeflateDecoder;

/// What gzip files begin with.
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Packed bytes that are read at once.
const PACKED: usize = 64 * 1024;

/// The text of all members of a gzip file.
pub(crate) struct GzipText<R> {
    member: Member<R>,
}

enum Member<R> {
    /// At the header of the first member.
    First(BufReader<R>),
    /// In the text of a member.
    Text { text: Box<DeflateDecoder<BufReader<R>>>, checksum: Hasher, length: u32 },
    /// Behind the last, or behind an error.
    End,
}

impl<R: Read> GzipText<R> {
    pub(crate) fn new(packed: R) -> Self {
        GzipText { member: Member::First(BufReader::with_capacity(PACKED, packed)) }
    }

    /// Goes behind the header of a member.
    fn begin(&mut self, mut packed: BufReader<R>) -> io::Result<()> {
        skip_header(&mut packed)?;
        let text = Box::new(DeflateDecoder::new(packed));
        self.member = Member::Text { text, checksum: Hasher::new(), length: 0 };
        Ok(())
    }
}

impl<R: Read> Read for GzipText<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Member::Text { text, checksum, length } = &mut self.member {
                let read = text.read(buffer)?;
                if read > 0 {
                    checksum.update(&buffer[..read]);
                    *length = length.wrapping_add(read as u32);
                    return Ok(read);
                }
            }
            match mem::replace(&mut self.member, Member::End) {
                Member::First(packed) => self.begin(packed)?,
                Member::Text { text, checksum, length } => {
                    let mut packed = text.into_inner();
                    let mut trailer = [0; 8];
                    packed.read_exact(&mut trailer)?;
                    let [sum, size] = [[0, 1, 2, 3], [4, 5, 6, 7]]
                        .map(|bytes: [usize; 4]| u32::from_le_bytes(bytes.map(|at| trailer[at])));
                    if (sum, size) != (checksum.finalize(), length) {
                        return Err(corrupt("corrupt gzip stream does not have a matching checksum"));
                    }
                    if !packed.fill_buf()?.is_empty() {
                        self.begin(packed)?;
                    }
                }
                Member::End => return Ok(0),
            }
        }
    }
}

/// Goes behind the header of a member (RFC 1952, 2.3).
fn skip_header(packed: &mut impl BufRead) -> io::Result<()> {
    const DEFLATE: u8 = 8;
    const HAS_CHECKSUM: u8 = 1 << 1;
    const HAS_EXTRA: u8 = 1 << 2;
    const HAS_NAME: u8 = 1 << 3;
    const HAS_COMMENT: u8 = 1 << 4;
    const RESERVED: u8 = 0b1110_0000;
    let mut header = [0; 10];
    packed.read_exact(&mut header)?;
    let flags = header[3];
    if header[..2] != MAGIC || header[2] != DEFLATE || flags & RESERVED != 0 {
        return Err(corrupt("invalid gzip header"));
    }
    if flags & HAS_EXTRA != 0 {
        let mut length = [0; 2];
        packed.read_exact(&mut length)?;
        skip(packed, u16::from_le_bytes(length).into())?;
    }
    for text in [HAS_NAME, HAS_COMMENT] {
        if flags & text != 0 {
            skip_text(packed)?;
        }
    }
    if flags & HAS_CHECKSUM != 0 { skip(packed, 2) } else { Ok(()) }
}

fn skip(packed: &mut impl BufRead, bytes: u64) -> io::Result<()> {
    match io::copy(&mut packed.take(bytes), &mut io::sink())? {
        skipped if skipped == bytes => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Goes behind a text that ends with a zero.
fn skip_text(packed: &mut impl BufRead) -> io::Result<()> {
    const LONGEST: u64 = 65_535;
    let mut text = Vec::new();
    packed.take(LONGEST).read_until(0, &mut text)?;
    match text.last() {
        Some(0) => Ok(()),
        _ if text.len() as u64 == LONGEST => Err(corrupt("gzip header field too long")),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

pub(crate) fn corrupt(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::read::MultiGzDecoder;
    use flate2::{Compression, GzBuilder};

    use super::*;

    /// Two members, the first with all that a header may have but its checksum.
    fn members() -> Vec<u8> {
        let mut packed = Vec::new();
        for (builder, text) in [
            (GzBuilder::new().filename("a").comment("b").extra(*b"cde"), &b"{\"traceEvents\": ["[..]),
            (GzBuilder::new(), b"], \"second\": true}"),
        ] {
            let mut member = builder.write(&mut packed, Compression::default());
            member.write_all(text).unwrap();
            member.finish().unwrap();
        }
        packed
    }

    /// The text before the end or an error, and the error's kind.
    fn read(mut source: impl Read) -> (Vec<u8>, Option<io::ErrorKind>) {
        let mut text = Vec::new();
        let outcome = source.read_to_end(&mut text);
        (text, outcome.err().map(|error| error.kind()))
    }

    #[test]
    fn whole_cut_and_damaged_members_read_as_flate2_reads_them() {
        let whole = members();
        assert_eq!(
            read(GzipText::new(&whole[..])),
            (b"{\"traceEvents\": [], \"second\": true}".to_vec(), None)
        );
        let damaged = (0..whole.len()).flat_map(|at| {
            [0x01, 0x80].map(|bit| {
                let mut bytes = whole.clone();
                bytes[at] ^= bit;
                bytes
            })
        });
        let cut = (0..whole.len()).map(|end| whole[..end].to_vec());
        let followed = [[&whole[..], b"behind it"].concat()];
        for bytes in cut.chain(damaged).chain(followed) {
            assert_eq!(
                read(GzipText::new(&bytes[..])),
                read(MultiGzDecoder::new(&bytes[..])),
                "{bytes:02x?}"
            );
        }
    }
}
