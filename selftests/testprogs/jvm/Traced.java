import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * A program for a Java virtual machine that is traced. It does what the lines of
 * standard input say, and answers each with "done":
 *
 * <pre>
 * call N       call Traced.work N times
 * mark         call Traced.mark once
 * thread NAME  run a thread of that name, which calls Traced.work once
 * gc           collect garbage
 * load NAME    load and initialize the class Traced$NAME
 * </pre>
 */
public class Traced {
    static int sum;

    static int work(int n, String s) {
        sum += n + s.length();
        return sum;
    }

    static void mark() {}

    static class First {}

    static class Second {}

    static class Größe {}

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ", 2);
            switch (words[0]) {
                case "call":
                    for (int i = Integer.parseInt(words[1]); i > 0; i--) {
                        work(i, words[1]);
                    }
                    break;
                case "mark":
                    mark();
                    break;
                case "thread":
                    Thread t = new Thread(() -> work(1, "thread"), words[1]);
                    t.start();
                    t.join();
                    break;
                case "gc":
                    System.gc();
                    break;
                case "load":
                    Class.forName("Traced$" + words[1]);
                    break;
                default:
                    throw new IllegalArgumentException(line);
            }
            System.out.println("done");
        }
    }
}
