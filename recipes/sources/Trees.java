import java.util.stream.IntStream;

/** Grows and counts binary trees in a parallel stream: nearly all of the time is allocation and garbage. */
public class Trees {
    private final Trees left;
    private final Trees right;

    private Trees(int depth) {
        left = depth == 0 ? null : new Trees(depth - 1);
        right = depth == 0 ? null : new Trees(depth - 1);
    }

    private int count() {
        return left == null ? 1 : 1 + left.count() + right.count();
    }

    public static void main(String[] words) {
        int total = IntStream.range(0, 128).parallel().map(i -> new Trees(14).count()).sum();
        System.out.println("nodes: " + total);
    }
}
