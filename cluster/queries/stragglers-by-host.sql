-- Hosts by how long other ranks waited for theirs in collectives that the program numbers.
WITH of_collectives AS (
    -- The rank that entered last has the shortest duration; of several, the first by number.
    SELECT
        entries.*,
        row_number() OVER (PARTITION BY group_key, sequence ORDER BY duration_ns, rank, recording) AS place,
        sum(wait_ns) OVER (PARTITION BY group_key, sequence) AS others_wait_ns
    FROM entries
),
of_ranks AS (
    SELECT
        recording,
        count(*) AS collectives,
        sum(CASE WHEN place = 1 AND others_wait_ns > 0 THEN 1 ELSE 0 END) AS entered_last,
        sum(CASE WHEN place = 1 THEN others_wait_ns ELSE 0 END) AS waited_for_ns,
        sum(wait_ns) AS wait_ns
    FROM of_collectives
    GROUP BY recording
)
SELECT
    r.host,
    count(*) AS recordings,
    min(r.rank) AS first_rank,
    max(r.rank) AS last_rank,
    sum(o.collectives) AS entries,
    sum(o.entered_last) AS entered_last,
    round(100.0 * sum(o.entered_last) / sum(o.collectives), 2) AS entered_last_percent,
    sum(o.waited_for_ns) AS waited_for_ns,
    max(o.waited_for_ns) AS most_for_one_rank_ns,
    sum(o.wait_ns) AS wait_ns
FROM of_ranks o
JOIN rank r ON r.recording = o.recording
GROUP BY r.host
ORDER BY waited_for_ns DESC, host
