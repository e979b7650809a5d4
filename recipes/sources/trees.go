// Grows and counts binary trees, a goroutine each: nearly all of the time is allocation and garbage.
package main

import (
	"fmt"
	"sync"
)

type node struct{ left, right *node }

func grow(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{grow(depth - 1), grow(depth - 1)}
}

func (n *node) count() int {
	if n.left == nil {
		return 1
	}
	return 1 + n.left.count() + n.right.count()
}

func main() {
	const depth, trees = 14, 128
	counts := make([]int, trees)
	var all sync.WaitGroup
	for i := range counts {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			counts[i] = grow(depth).count()
		}(i)
	}
	all.Wait()
	total := 0
	for _, count := range counts {
		total += count
	}
	fmt.Println("nodes:", total)
}
