package cgocalls
