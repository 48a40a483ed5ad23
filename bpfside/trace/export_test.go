package trace

import "time"

// StartEvery is Start with a follower that looks at mappings at an interval.
func StartEvery(q Query, interval time.Duration) (*Session, error) { return start(q, interval) }
