/* A program with a word in it, such as a runtime leaves in a program that it is linked into. */
#include <stdio.h>

int main(void) {
    return puts(MARK) == EOF;
}
