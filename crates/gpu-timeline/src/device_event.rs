use crate::Interval;

/// What the device is doing during an event, as a [`Breakdown`](crate::Breakdown) counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// Kernels that are no collectives, and memory fills.
    Computation,
    /// Collectives: exchange with other devices.
    Communication,
    /// Copies between host and device or within a device.
    Memcpy,
}

impl Activity {
    /// Its name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Activity::Computation => "computation",
            Activity::Communication => "communication",
            Activity::Memcpy => "copy",
        }
    }
}

/// A kernel, copy or fill, as every function of this crate takes it. Times are in the caller's unit.
///
/// ```
/// use gpu_timeline::{Activity, DeviceEvent};
///
/// let kernel = DeviceEvent::new(100, 250, Activity::Computation).on(Some(0), Some(7)).launched(Some(40));
/// assert_eq!((kernel.span.length(), kernel.stream, kernel.launch), (150, Some(7), Some(40)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceEvent {
    /// When it ran; an end before the start counts as the start.
    pub span: Interval,
    /// What the device did meanwhile.
    pub activity: Activity,
    /// Number of the device, if the recording names it.
    pub device: Option<i64>,
    /// Number of the stream or queue on its device, if the recording names it.
    pub stream: Option<i64>,
    /// Start of the call that launched it; `None` where the recording does not have the call.
    pub launch: Option<i64>,
}

impl DeviceEvent {
    /// An event of unknown device, stream and launch, which a breakdown does not ask for.
    #[must_use]
    pub const fn new(start: i64, end: i64, activity: Activity) -> Self {
        DeviceEvent { span: Interval { start, end }, activity, device: None, stream: None, launch: None }
    }

    /// The event on this device and stream.
    #[must_use]
    pub const fn on(self, device: Option<i64>, stream: Option<i64>) -> Self {
        DeviceEvent { device, stream, ..self }
    }

    /// The event with the start of its launch.
    #[must_use]
    pub const fn launched(self, launch: Option<i64>) -> Self {
        DeviceEvent { launch, ..self }
    }
}
