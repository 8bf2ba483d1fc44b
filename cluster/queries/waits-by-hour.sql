-- Waiting in collectives that the program numbers, by the hour (UTC) in which the rank entered.
WITH timed AS (
    SELECT
        e.recording,
        e.duration_ns,
        e.wait_ns,
        (r.base_time_ns + e.start_ns) / 3600000000000 AS hours_since_1970
    FROM entries e
    JOIN rank r ON r.recording = e.recording
)
SELECT
    to_timestamp_seconds(hours_since_1970 * 3600) AS hour,
    count(DISTINCT recording) AS recordings,
    count(*) AS entries,
    sum(duration_ns) AS time_ns,
    sum(wait_ns) AS wait_ns,
    round(100.0 * sum(wait_ns) / nullif(sum(duration_ns), 0), 2) AS wait_percent,
    max(wait_ns) AS longest_wait_ns
FROM timed
GROUP BY hours_since_1970
ORDER BY hours_since_1970
