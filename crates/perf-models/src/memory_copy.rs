//! Copies that the device's copy engines or the runtime make, and what they are held against.

use std::fmt;

use crate::{Architecture, Roofline};

/// A recorded copy, as its name tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryCopy {
    /// From where to where.
    pub direction: CopyDirection,
    /// What the host's memory is, if the name says.
    pub host_memory: Option<HostMemory>,
}

/// From where to where a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyDirection {
    /// From the host to a device.
    HostToDevice,
    /// From a device to the host.
    DeviceToHost,
    /// Within the memory of a device.
    WithinDevice,
    /// From a device to another.
    BetweenDevices,
}

/// How a program has got the host's memory of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostMemory {
    /// By ordinary allocation: the driver copies it to a pinned buffer first.
    Pageable,
    /// Locked in memory: the device reads and writes it itself.
    Pinned,
}

impl MemoryCopy {
    /// Reads the name of a copy as CUPTI (`Memcpy HtoD (Pageable -> Device)`, `Memcpy PtoP (Device -> Device)`) and
    /// ROCm (`CopyHostToDevice`, `MEMORY_COPY_HOST_TO_DEVICE`) write it; `None` for other names, and for copies within
    /// the host's memory.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        use CopyDirection::{BetweenDevices, DeviceToHost, HostToDevice, WithinDevice};
        const DIRECTIONS: [(CopyDirection, &[&str]); 4] = [
            (HostToDevice, &["htod", "hosttodevice"]),
            (DeviceToHost, &["dtoh", "devicetohost"]),
            (BetweenDevices, &["ptop", "peertopeer"]),
            (WithinDevice, &["dtod", "devicetodevice"]),
        ];
        let lower = name.to_ascii_lowercase().replace('_', "");
        if !lower.contains("copy") && !lower.contains("memcpy") {
            return None;
        }
        let has = |texts: &[&str]| texts.iter().any(|text| lower.contains(text));
        let (direction, _) = DIRECTIONS.into_iter().find(|(_, texts)| has(texts))?;
        let host_memory = match () {
            () if lower.contains("pageable") => Some(HostMemory::Pageable),
            () if lower.contains("pinned") => Some(HostMemory::Pinned),
            () => None,
        };
        Some(MemoryCopy { direction, host_memory })
    }

    /// Bytes that pass the link, or the device's memory: within it, a copy of `bytes` reads and writes them.
    #[must_use]
    pub fn traffic(self, bytes: f64) -> f64 {
        match self.direction {
            CopyDirection::WithinDevice => 2.0 * bytes,
            _ => bytes,
        }
    }

    /// The least time of a copy of `bytes` on the way that it takes; `None` where the architecture does not state its
    /// rate.
    #[must_use]
    pub fn roofline(self, bytes: f64, architecture: &Architecture) -> Option<Roofline> {
        let link = match self.direction {
            CopyDirection::WithinDevice => {
                return Roofline::new(0.0, self.traffic(bytes), None, architecture).ok();
            }
            CopyDirection::HostToDevice | CopyDirection::DeviceToHost => architecture.host_link.as_ref(),
            // Without links of their own, devices reach each other over that to the host.
            CopyDirection::BetweenDevices => {
                architecture.peer_link.as_ref().or(architecture.host_link.as_ref())
            }
        };
        link.map(|link| Roofline::over_link(bytes, link))
    }

    /// What the copy is held against, in words, where it is a link.
    #[must_use]
    pub fn held_against(self, architecture: Option<&Architecture>) -> Option<String> {
        let link = |architecture: &Architecture| match self.direction {
            CopyDirection::BetweenDevices => {
                architecture.peer_link.clone().or(architecture.host_link.clone())
            }
            _ => architecture.host_link.clone(),
        };
        if self.direction == CopyDirection::WithinDevice {
            return None;
        }
        let against = match (architecture, architecture.and_then(link)) {
            (None, _) => String::new(),
            (Some(_), Some(link)) => {
                format!(", compared with {} ({} GB/s in one direction)", link.name, link.gb_per_s)
            }
            (Some(architecture), None) => format!("; {} has no bandwidth for that link", architecture.name),
        };
        Some(format!("{self}{against}"))
    }
}

impl fmt::Display for MemoryCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.direction {
            CopyDirection::HostToDevice => "copy to the device",
            CopyDirection::DeviceToHost => "copy to the host",
            CopyDirection::WithinDevice => "copy within the device",
            CopyDirection::BetweenDevices => "copy between devices",
        })?;
        match self.host_memory {
            Some(HostMemory::Pageable) => f.write_str(", pageable memory"),
            Some(HostMemory::Pinned) => f.write_str(", pinned memory"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bound, architecture};

    #[test]
    fn names_tell_direction_and_memory() {
        use CopyDirection::{BetweenDevices, DeviceToHost, HostToDevice, WithinDevice};
        use HostMemory::{Pageable, Pinned};
        let cases = [
            ("Memcpy HtoD (Pageable -> Device)", Some((HostToDevice, Some(Pageable)))),
            ("Memcpy HtoD (Pinned -> Device)", Some((HostToDevice, Some(Pinned)))),
            ("Memcpy HtoD (Host -> Device)", Some((HostToDevice, None))),
            ("Memcpy DtoH (Device -> Pinned)", Some((DeviceToHost, Some(Pinned)))),
            ("Memcpy DtoD (Device -> Device)", Some((WithinDevice, None))),
            ("Memcpy PtoP (Device -> Device)", Some((BetweenDevices, None))),
            ("CopyHostToDevice", Some((HostToDevice, None))),
            ("MEMORY_COPY_DEVICE_TO_HOST", Some((DeviceToHost, None))),
            ("Memcpy HtoH (Pageable -> Pinned)", None),
            ("Memset (Device)", None),
            ("htod_kernel", None),
        ];
        for (name, expected) in cases {
            let found = MemoryCopy::parse(name).map(|copy| (copy.direction, copy.host_memory));
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn copies_are_held_against_the_way_that_they_take() {
        let least = |name: &str, device: &str| {
            let roofline = MemoryCopy::parse(name).unwrap().roofline(1e9, architecture(device).unwrap())?;
            Some((roofline.time_us(), roofline.bound()))
        };
        let near = |found: Option<(f64, Bound)>, time_us: f64, bound| {
            let (found, of) = found.unwrap();
            assert!((found / time_us - 1.0).abs() < 1e-12, "{found}, not {time_us}");
            assert_eq!(of, bound);
        };
        // 1e9 bytes over 63, 450 and 15.75 GB/s, and twice through 3350 GB/s.
        near(least("Memcpy HtoD (Pinned -> Device)", "h100"), 1e6 / 63.0, Bound::Link);
        near(least("Memcpy PtoP (Device -> Device)", "h100"), 1e6 / 450.0, Bound::Link);
        near(least("Memcpy PtoP (Device -> Device)", "t4"), 1e6 / 15.75, Bound::Link);
        near(least("Memcpy DtoD (Device -> Device)", "h100"), 2e6 / 3350.0, Bound::Memory);
        assert_eq!(least("Memcpy DtoH (Device -> Pageable)", "gb200"), None);
    }

    #[test]
    fn links_are_named() {
        let copy = MemoryCopy::parse("Memcpy DtoH (Device -> Pageable)").unwrap();
        let text = |device: &str| copy.held_against(architecture(device)).unwrap();
        assert_eq!(
            text("a100"),
            "copy to the host, pageable memory, compared with PCIe 4.0 x16 (31.5 GB/s in one direction)"
        );
        assert_eq!(text("gb200"), "copy to the host, pageable memory; GB200 has no bandwidth for that link");
        assert_eq!(text("unknown"), "copy to the host, pageable memory");
        assert_eq!(MemoryCopy::parse("Memcpy DtoD (Device -> Device)").unwrap().held_against(None), None);
    }
}
