-- Operators by the device time of the kernels that they account for, over all ranks.
WITH of_recordings AS (
    SELECT
        recording,
        name,
        category,
        sum(calls) AS calls,
        sum(kernels) AS kernels,
        sum(device_ns) AS device_ns,
        sum(host_ns) AS host_ns
    FROM ops
    GROUP BY recording, name, category
),
job AS (
    SELECT sum(device_ns) AS device_ns
    FROM ops
)
SELECT
    o.name,
    o.category,
    count(*) AS recordings,
    sum(o.calls) AS calls,
    sum(o.kernels) AS kernels,
    sum(o.device_ns) AS device_ns,
    round(100.0 * sum(o.device_ns) / nullif(max(job.device_ns), 0), 2) AS percent,
    min(o.device_ns) AS least_of_a_recording_ns,
    max(o.device_ns) AS most_of_a_recording_ns,
    sum(o.host_ns) AS host_ns
FROM of_recordings o
CROSS JOIN job
GROUP BY o.name, o.category
ORDER BY device_ns DESC, o.name, o.category
