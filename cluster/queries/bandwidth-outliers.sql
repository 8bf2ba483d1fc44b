-- Collectives whose transfer took twice as long as the median of those of the same group, kind and size, or longer.
WITH transfers AS (
    SELECT
        group_key,
        sequence,
        min(collective) AS collective,
        min(dtype) AS dtype,
        min(in_bytes) AS in_bytes,
        min(out_bytes) AS out_bytes,
        min(step) AS step,
        count(*) AS ranks,
        min(transfer_ns) AS transfer_ns
    FROM entries
    GROUP BY group_key, sequence
),
placed AS (
    SELECT
        transfers.*,
        count(*) OVER (PARTITION BY group_key, collective, dtype, in_bytes, out_bytes) AS alike,
        row_number() OVER (
            PARTITION BY group_key, collective, dtype, in_bytes, out_bytes ORDER BY transfer_ns, sequence
        ) AS place
    FROM transfers
),
with_median AS (
    SELECT
        placed.*,
        max(CASE WHEN place = (alike + 1) / 2 THEN transfer_ns END) OVER (
            PARTITION BY group_key, collective, dtype, in_bytes, out_bytes
        ) AS median_ns
    FROM placed
),
names AS (
    SELECT key, min(name) AS group_name, min(description) AS description
    FROM groups
    GROUP BY key
)
SELECT
    n.group_name,
    n.description,
    m.collective,
    m.dtype,
    m.in_bytes,
    m.out_bytes,
    m.sequence,
    m.step,
    m.ranks,
    m.transfer_ns,
    m.median_ns,
    round(100.0 * m.transfer_ns / m.median_ns, 2) AS percent_of_median,
    m.in_bytes * 1000 / m.transfer_ns AS in_megabytes_per_second
FROM with_median m
JOIN names n ON n.key = m.group_key
WHERE m.alike >= 3 AND m.median_ns > 0 AND m.transfer_ns >= 2 * m.median_ns
ORDER BY percent_of_median DESC, m.transfer_ns DESC, m.group_key, m.sequence
