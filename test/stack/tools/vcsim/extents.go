package main

import (
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// merged sorts extents and joins those that touch or overlap.
func merged(extents []types.DiskChangeExtent) []types.DiskChangeExtent {
	sorted := slices.Clone(extents)
	slices.SortFunc(sorted, func(a, b types.DiskChangeExtent) int { return int(a.Start - b.Start) })
	out := []types.DiskChangeExtent{}
	for _, extent := range sorted {
		if last := len(out) - 1; last >= 0 && extent.Start <= out[last].Start+out[last].Length {
			out[last].Length = max(out[last].Length, extent.Start+extent.Length-out[last].Start)
			continue
		}
		out = append(out, extent)
	}
	return out
}
