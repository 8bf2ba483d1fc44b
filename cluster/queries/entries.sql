-- The view `entries`: a rank in a collective that the program numbers and that no member leaves before all have entered.
-- Members leave such a collective together, so the shortest duration is that of the rank which entered last: the transfer.
-- What another member's duration exceeds it by, that member waited. Clocks of hosts play no part.
WITH executions AS (
    -- One collective may have several kernels on a rank.
    SELECT
        c.recording,
        c.rank,
        g.key AS group_key,
        c.sequence,
        min(c.step) AS step,
        min(c.name) AS collective,
        min(c.dtype) AS dtype,
        min(c.in_bytes) AS in_bytes,
        min(c.out_bytes) AS out_bytes,
        min(c.start_ns) AS start_ns,
        max(c.start_ns + c.duration_ns) - min(c.start_ns) AS duration_ns
    FROM collectives c
    JOIN groups g ON g.recording = c.recording AND g."group" = c."group"
    WHERE c.sequence IS NOT NULL
        AND c.point_to_point = 0
        AND (
            c.name = 'barrier'
            OR replace(lower(c.name), '_', '') LIKE '%allreduce%'
            OR replace(lower(c.name), '_', '') LIKE '%allgather%'
            OR replace(lower(c.name), '_', '') LIKE '%reducescatter%'
            OR replace(lower(c.name), '_', '') LIKE '%alltoall%'
            OR replace(lower(c.name), '_', '') LIKE '%crossdevicereduce%'
        )
    GROUP BY c.recording, c.rank, g.key, c.sequence
),
matched AS (
    SELECT
        executions.*,
        count(*) OVER (PARTITION BY group_key, sequence) AS members,
        min(duration_ns) OVER (PARTITION BY group_key, sequence) AS transfer_ns
    FROM executions
)
SELECT matched.*, duration_ns - transfer_ns AS wait_ns
FROM matched
WHERE members > 1
