#pragma once
// One execution of each program; all but their main threads are started in them. Compiled with the calls to
// the explorer, as the runtime's own text is.

namespace explorer::programs {

void loops();           // launch and join: two workers, three loops, the end
void crowded_loops();   // the same where nobody spins
void shared_counter();  // dynamic loops
void throwing_loops();  // bodies that throw, then a loop that does not
void two_callers();     // two threads with one team
void forked_child();    // a team in the child of a fork, while another thread had the turn
void shared_tasks();    // two recursions, a loop after each
void stealing();        // a worksharing of three members
void leaving();         // members that leave early, and the rest
void ordered();         // parts by falling cost
void rows();            // three members, data in lines and in buffers
void rows_in_place();   // published data
void rows_throw();      // a body that throws, others that wait
void rows_operator_throws();
void rows_split();  // arrive and wait
void rows_mixed();  // arrive on one member, barrier on the others
void tournament();  // six members
void tournament_throw();
void deque_of_tasks();      // an owner and two thieves
void joined_loops();        // a member opens two loops, two others join them
void wavefront_of_tiles();  // tiles that need the sum of those before them
void wavefront_at_once();   // the same, where a tile that knows it is done at once
void front_of_a_scan();     // who has the front knows the sum before its tiles, and hands it on
void runs();                // team::run twice, by its own text

}  // namespace explorer::programs
