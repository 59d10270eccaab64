package profile

// nearest returns the candidate that word was probably meant to be, or "" when none is close.
func nearest(word string, candidates []string) string {
	best, distance := "", len(word)/2+1
	for _, candidate := range candidates {
		if d := edits(word, candidate); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// edits counts the insertions, deletions and replacements that turn a into b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

func didYouMean(word string, candidates []string) string {
	if candidate := nearest(word, candidates); candidate != "" {
		return "; did you mean " + candidate + "?"
	}
	return ""
}
