#pragma once
// The controller's own priority: a look is short and must not be late.

namespace tauto::balance {

// Before all ordinary threads, where that is allowed. For the calling thread, from here on.
void become_prompt();

// While it exists, the calling thread is an ordinary one again. For calls in which the kernel may spin until
// another thread has run: before all others, that would be forever.
class patience {
  public:
    patience();
    ~patience();
    patience(const patience&) = delete;
    patience& operator=(const patience&) = delete;

  private:
    bool was_prompt_;
};

}  // namespace tauto::balance
