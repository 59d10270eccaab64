"""What a begin asks for, and what of it no snapshot may have."""
