-- Device time of a step of this job against the job of --baseline: mean of the steps that were recorded whole, by rank,
-- and in the first row, without a rank, of all ranks. The row of recordings whose rank is not known
-- has rank -1. What a rank of one job alone has is empty for the other.
WITH now AS (
    SELECT
        coalesce(rank, -1) AS rank,
        count(*) AS steps,
        sum(device_ns) / count(*) AS step_ns,
        sum(computation_ns) / count(*) AS computation_ns,
        sum(exposed_communication_ns) / count(*) AS communication_ns,
        sum(exposed_copies_ns) / count(*) AS copies_ns,
        sum(idle_ns) / count(*) AS idle_ns
    FROM steps
    WHERE whole = 1
    GROUP BY GROUPING SETS ((), (coalesce(rank, -1)))
),
before AS (
    SELECT
        coalesce(rank, -1) AS rank,
        count(*) AS steps,
        sum(device_ns) / count(*) AS step_ns,
        sum(computation_ns) / count(*) AS computation_ns,
        sum(exposed_communication_ns) / count(*) AS communication_ns,
        sum(exposed_copies_ns) / count(*) AS copies_ns,
        sum(idle_ns) / count(*) AS idle_ns
    FROM baseline.steps
    WHERE whole = 1
    GROUP BY GROUPING SETS ((), (coalesce(rank, -1)))
)
SELECT
    coalesce(n.rank, b.rank) AS rank,
    n.steps,
    b.steps AS baseline_steps,
    n.step_ns,
    b.step_ns AS baseline_step_ns,
    n.step_ns - b.step_ns AS change_ns,
    round(100.0 * (n.step_ns - b.step_ns) / nullif(b.step_ns, 0), 2) AS change_percent,
    n.computation_ns - b.computation_ns AS computation_change_ns,
    n.communication_ns - b.communication_ns AS communication_change_ns,
    n.copies_ns - b.copies_ns AS copies_change_ns,
    n.idle_ns - b.idle_ns AS idle_change_ns
FROM now n
FULL OUTER JOIN before b ON coalesce(b.rank, -2) = coalesce(n.rank, -2)
ORDER BY rank NULLS FIRST
