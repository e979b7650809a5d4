// Does nothing: what it takes is what it takes to start a process.

int main() {
    return 0;
}
