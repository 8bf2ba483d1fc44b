-- Groups by the time in their collectives, summed over their ranks, and how much of it is waiting.
WITH totals AS (
    SELECT
        g.key AS group_key,
        min(g.name) AS group_name,
        min(g.description) AS description,
        min(g.members) AS members,
        count(DISTINCT c.recording) AS ranks,
        count(*) AS kernels,
        sum(c.duration_ns) AS time_ns
    FROM collectives c
    JOIN groups g ON g.recording = c.recording AND g."group" = c."group"
    GROUP BY g.key
),
waits AS (
    -- Of the collectives that the program numbers; older recorders leave these columns empty.
    SELECT group_key, sum(duration_ns) AS numbered_ns, sum(wait_ns) AS wait_ns
    FROM entries
    GROUP BY group_key
)
SELECT
    t.group_name,
    t.description,
    t.members,
    t.ranks,
    t.kernels,
    t.time_ns,
    w.numbered_ns,
    w.wait_ns,
    round(100.0 * w.wait_ns / nullif(w.numbered_ns, 0), 2) AS wait_percent
FROM totals t
LEFT JOIN waits w ON w.group_key = t.group_key
ORDER BY t.time_ns DESC, t.group_key
